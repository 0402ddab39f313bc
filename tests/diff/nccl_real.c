#include "tests/diff/nccl_real.h"

#include <dlfcn.h>
#include <glob.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static struct {
	void *lib;
	const char *path;
	int (*get_version)(int *version);
	int (*get_unique_id)(void *id);
} nccl;

/* --- getifaddrs, as libnccl calls it ------------------------------------------ */

enum { LAST_MAX = 32, ONE_MAX = NI_MAXHOST + 64 };
static const char *last[LAST_MAX]; /* names to be moved to the end */
static size_t nlast;
static struct ifaddrs *given_head, *own_head;

static bool is_last(const char *name)
{
	for (size_t i = 0; i < nlast; i++)
		if (streq(last[i], name))
			return true;
	return false;
}

int getifaddrs(struct ifaddrs **ret);
void freeifaddrs(struct ifaddrs *list);

int getifaddrs(struct ifaddrs **ret)
{
	int (*real)(struct ifaddrs **) = dlsym(RTLD_NEXT, "getifaddrs");
	struct ifaddrs *keep = NULL, *move = NULL, **k = &keep, **m = &move, *next;
	int r = real(ret);

	if (r || !nlast)
		return r;
	given_head = *ret;
	for (struct ifaddrs *i = *ret; i; i = next) {
		struct ifaddrs ***at = is_last(i->ifa_name) ? &m : &k;

		next = i->ifa_next;
		i->ifa_next = NULL;
		**at = i;
		*at = &i->ifa_next;
	}
	*k = move;
	*ret = own_head = keep;
	return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
	void (*real)(struct ifaddrs *) = dlsym(RTLD_NEXT, "freeifaddrs");

	/* glibc keeps the whole list in one block, which begins at its first entry */
	real(list && list == own_head ? given_head : list);
}

/* "eth0:10.0.0.1", as NCCL prints an entry, or "" for what has no IP address. */
static void show(const struct ifaddrs *i, char *to, size_t n)
{
	char host[NI_MAXHOST];
	int family = i->ifa_addr ? i->ifa_addr->sa_family : AF_UNSPEC;
	socklen_t len =
		family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

	*to = '\0';
	if ((family == AF_INET || family == AF_INET6) &&
	    getnameinfo(i->ifa_addr, len, host, sizeof(host), NULL, 0, NI_NUMERICHOST) == 0)
		snprintf(to, n, "%s:%s", i->ifa_name, host);
}

void real_snapshot(struct text *out)
{
	AUTO_FILE FILE *f = NULL;
	struct ifaddrs *list;
	char one[ONE_MAX];

	if (getifaddrs(&list))
		return;
	for (struct ifaddrs *i = list; i; i = i->ifa_next) {
		show(i, one, sizeof(one));
		text_addf(out, "%s %x %s\n", i->ifa_name, i->ifa_flags, one);
	}
	freeifaddrs(list);
	/* getifaddrs does not tell whether an IPv6 address is still being tested */
	f = fopen("/proc/net/if_inet6", "re");
	while (f && fgets(one, sizeof(one), f))
		text_add(out, one);
}

/* Names and addresses both hold colons, so the printed text is looked up, not taken apart. */
static char *name_of(struct arena *a, const char *printed)
{
	struct ifaddrs *list;
	char *name = NULL, one[ONE_MAX];

	if (getifaddrs(&list))
		return NULL;
	for (struct ifaddrs *i = list; i && !name; i = i->ifa_next) {
		show(i, one, sizeof(one));
		if (*one && streq(one, printed))
			name = arena_strdup(a, i->ifa_name);
	}
	freeifaddrs(list);
	return name;
}

/* --- one question ---------------------------------------------------------------- */

static int read_all(int fd, struct text *out)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char buf[4096];
	ssize_t n;

	for (;;) {
		if (poll(&p, 1, 20000) <= 0)
			return -1;
		n = read(fd, buf, sizeof(buf));
		if (n <= 0)
			return n < 0 ? -1 : 0;
		/* up to 2.19 a line too long for the log drags along what lies behind its buffer */
		for (ssize_t i = 0; i < n; i++)
			buf[i] = buf[i] ? buf[i] : ' ';
		text_addn(out, buf, (size_t)n);
	}
}

enum { DIED = 1000 }; /* of a signal, in the library */

/* NCCL's result or DIED, or -1 when it hung. */
static int run_once(struct text *log)
{
	int fd[2], status, r;
	pid_t pid;

	if (pipe(fd))
		return -1;
	pid = fork();
	if (pid == 0) {
		char id[4096];

		(void)dup2(fd[1], STDOUT_FILENO);
		(void)dup2(fd[1], STDERR_FILENO);
		(void)close(fd[0]);
		(void)close(fd[1]);
		prctl(PR_SET_DUMPABLE, 0);
		r = nccl.get_unique_id(id);
		(void)fflush(NULL);
		_exit(r);
	}
	(void)close(fd[1]);
	r = pid < 0 ? -1 : read_all(fd[0], log);
	(void)close(fd[0]);
	if (pid > 0 && r)
		(void)kill(pid, SIGKILL);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || r)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : DIED;
}

/* "Bootstrap: Using eth0:10.0.0.1<0>"; before 2.24 a blank stands before the colon. */
static bool find_using(const char *log, char *to, size_t n)
{
	static const char *const marks[] = {"Bootstrap: Using ", "Bootstrap : Using "};
	const char *at = NULL;
	size_t len;

	*to = '\0';
	for (size_t i = 0; i < ARRAY_LEN(marks) && !at; i++)
		if ((at = strstr(log, marks[i])))
			at += strlen(marks[i]);
	if (!at)
		return false;
	len = strcspn(at, "<\n");
	if (len >= n)
		return false;
	memcpy(to, at, len);
	to[len] = '\0';
	return true;
}

static void draw_data(struct arena *a, struct truth *t)
{
	char using[ONE_MAX];

	text_init(&t->data, a);
	for (nlast = 0; nlast < LAST_MAX; nlast++) {
		struct text log;
		char *name;

		text_init(&log, a);
		if (run_once(&log) < 0 || !find_using(log.s, using, sizeof(using)))
			break;
		name = name_of(a, using);
		if (!name || is_last(name))
			break;
		text_addf(&t->data, "%s%s", nlast ? " " : "", name);
		last[nlast] = name;
	}
	nlast = 0;
}

int real_ask(struct arena *a, struct truth *t)
{
	int r;

	*t = (struct truth){0};
	text_init(&t->log, a);
	r = run_once(&t->log);
	if (r < 0)
		return -1;
	find_using(t->log.s, t->boot, sizeof(t->boot));
	snprintf(t->outcome, sizeof(t->outcome), "%s",
		 r == 0							     ? "ok"
		 : r == DIED						     ? "crash"
		 : strstr(t->log.s, "Bootstrap : no socket interface found") ? "none"
									     : "fails");
	if (r == 0 && !strstr(t->log.s, "NCCL_COMM_ID"))
		draw_data(a, t);
	return 0;
}

/* --- the library -------------------------------------------------------------------- */

static bool try_load(const char *path)
{
	if (!path || !*path || !(nccl.lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL)))
		return false;
	*(void **)&nccl.get_version = dlsym(nccl.lib, "ncclGetVersion");
	*(void **)&nccl.get_unique_id = dlsym(nccl.lib, "ncclGetUniqueId");
	return nccl.get_version && nccl.get_unique_id;
}

static bool try_pattern(const char *pattern)
{
	glob_t g = {0};
	bool ok = false;

	if (glob(pattern, 0, NULL, &g) == 0)
		for (size_t i = 0; i < g.gl_pathc && !ok; i++)
			ok = try_load(g.gl_pathv[i]);
	globfree(&g);
	return ok;
}

bool real_load(const char *path)
{
	static char resolved[4096];
	static const char *const patterns[] = {
		"/usr/local/cuda/lib64/libnccl.so.2",
		"/usr/lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2",
		"/usr/local/lib/python3*/*-packages/nvidia/nccl/lib/libnccl.so.2",
		"/root/.local/lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2",
	};
	bool ok = try_load(path) || try_load("libnccl.so.2");

	for (size_t i = 0; i < ARRAY_LEN(patterns) && !ok; i++)
		ok = try_pattern(patterns[i]);
	if (ok && dlinfo(nccl.lib, RTLD_DI_ORIGIN, resolved) == 0) {
		size_t n = strlen(resolved);

		snprintf(resolved + n, sizeof(resolved) - n, "/libnccl.so.2");
		nccl.path = path && *path ? path : resolved;
	}
	return ok;
}

const char *real_path(void) { return nccl.path; }

unsigned real_version(void)
{
	int v = 0;

	return nccl.get_version(&v) == 0 ? (unsigned)v : 0;
}
