#include "tests/diff/nccl_host.h"
#include "tests/diff/nccl_real.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int put(const char *dir, const char *name, const char *s, size_t n)
{
	char path[256];
	AUTO_CLOSE int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (!s)
		return unlink(path) && errno != ENOENT ? -1 : 0;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	return fd >= 0 && write(fd, s, n) == (ssize_t)n ? 0 : -1;
}

static int put_str(const char *dir, const char *name, const char *s)
{
	return put(dir, name, s, strlen(s));
}

static int copy_loader_cache(const char *dir)
{
	static char buf[4 << 20];
	AUTO_CLOSE int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, sizeof(buf));

	return n > 0 ? put(dir, "etc/ld.so.cache", buf, (size_t)n) : 0;
}

int host_dir_make(struct host_dir *h)
{
	static const char *const subs[] = {"etc", "home", "pwhome"};
	char path[128], passwd[160];

	snprintf(h->dir, sizeof(h->dir), "/tmp/nccl-diff.XXXXXX");
	if (!mkdtemp(h->dir))
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(subs); i++) {
		snprintf(path, sizeof(path), "%s/%s", h->dir, subs[i]);
		if (mkdir(path, 0755))
			return -1;
	}
	snprintf(passwd, sizeof(passwd), "root:x:0:0:root:%s/pwhome:/bin/sh\n", h->dir);
	return put_str(h->dir, "etc/passwd", passwd) ||
	       put_str(h->dir, "etc/hosts", LAYOUT_HOSTS) ||
	       put_str(h->dir, "etc/nsswitch.conf", "passwd: files\nhosts: files\n") ||
	       copy_loader_cache(h->dir);
}

void host_dir_remove(const struct host_dir *h)
{
	static const char *const all[] = {"etc/passwd",
					  "etc/hosts",
					  "etc/nsswitch.conf",
					  "etc/ld.so.cache",
					  "etc/nccl.conf",
					  "home/.nccl.conf",
					  "pwhome/.nccl.conf",
					  "nccl.conf",
					  "etc",
					  "home",
					  "pwhome",
					  ""};
	char path[128];

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		snprintf(path, sizeof(path), "%s/%s", h->dir, all[i]);
		(void)remove(path);
	}
}

/* stdin from @in, stdout to @ret_out when it is wanted; killed after 20 s. */
int host_run(char *const argv[], const struct text *in, struct text *ret_out)
{
	AUTO_CLOSE int give = memfd_create("stdin", MFD_CLOEXEC);
	AUTO_CLOSE int take = memfd_create("stdout", MFD_CLOEXEC);
	posix_spawn_file_actions_t fa;
	struct pollfd p = {.events = POLLIN};
	char buf[65536];
	int status = -1, e;
	ssize_t n;
	pid_t pid;

	if (in && write(give, in->s, in->n) != (ssize_t)in->n)
		return -1;
	(void)lseek(give, 0, SEEK_SET);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, give, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&fa, take, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&fa, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	e = posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	if (e)
		return -1;
	p.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (poll(&p, 1, 20000) <= 0)
		(void)kill(pid, SIGKILL);
	if (p.fd >= 0)
		(void)close(p.fd);
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	(void)lseek(take, 0, SEEK_SET);
	while (ret_out && (n = read(take, buf, sizeof(buf))) > 0)
		text_addn(ret_out, buf, (size_t)n);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void set_sysctl(const char *name, const char *value)
{
	char path[128];
	AUTO_CLOSE int fd = -1;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, value, strlen(value)) < 0)
		(void)fprintf(stderr, "# %s stays as it is\n", path);
}

static int enter_namespaces(const struct host_dir *h, const struct layout *l)
{
	char etc[128];

	snprintf(etc, sizeof(etc), "%s/etc", h->dir);
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(etc, "/etc", NULL, MS_BIND, NULL) || mount("sysfs", "/sys", "sysfs", 0, NULL))
		return -1;
	/* No automatic addresses, and the given ones at once or never. */
	set_sysctl("default/addr_gen_mode", "1");
	set_sysctl("default/router_solicitations", "0");
	set_sysctl("default/accept_dad", l->dad ? "1" : "0");
	set_sysctl("all/accept_dad", "0");
	set_sysctl("default/dad_transmits", l->dad ? "60" : "0");
	return 0;
}

static int set_environment(const struct host_dir *h, const struct layout *l, struct arena *a)
{
	static const char *const names[CONF_COUNT] = {"nccl.conf", "home/.nccl.conf",
						      "pwhome/.nccl.conf", "etc/nccl.conf"};
	const char *path = arena_strdup(a, getenv("PATH"));

	clearenv();
	setenv("PATH", path, 1);
	setenv("NCCL_DEBUG", "INFO", 1);
	setenv("WINDSOCK_NCCL", real_path(), 1);
	setenv("HOME", arena_printf(a, "%s/%s", h->dir, l->own_home ? "home" : "pwhome"), 1);
	if (l->names_conf_file)
		setenv("NCCL_CONF_FILE", arena_printf(a, "%s/nccl.conf", h->dir), 1);
	for (size_t i = 0; i < l->env.n; i++)
		(void)putenv((char *)(uintptr_t)l->env.v[i]);
	for (size_t i = 0; i < CONF_COUNT; i++)
		if (put(h->dir, names[i], l->conf[i].s, l->conf[i].n))
			return -1;
	return 0;
}

int host_build(const struct host_dir *h, const struct layout *l, struct arena *a)
{
	char *const ip[] = {(char *)"ip", (char *)"-force", (char *)"-batch", (char *)"-", NULL};

	if (enter_namespaces(h, l) || set_environment(h, l, a))
		return -1;
	/* What the kernel refuses is refused for both. */
	return host_run(ip, &l->ip, NULL) < 0 ? -1 : 0;
}

int host_work(struct host_dir *h, uint64_t first, uint64_t end, unsigned jobs,
	      int (*one)(void *arg, uint64_t number), void *arg, unsigned *done, unsigned *bad)
{
	if (host_dir_make(h))
		return -1;
	for (uint64_t i = first; i < end; i += jobs) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			int failed = one(arg, i);

			(void)fflush(stdout);
			_exit(failed ? 1 : 0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			__atomic_add_fetch(bad, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(done, 1, __ATOMIC_RELAXED);
	}
	host_dir_remove(h);
	return 0;
}
