/*
 * Runs a program as a poor or odd environment would: poor WORD... -- COMMAND [ARG...]
 *   deny=NAME[:ERRNO]    this system call, or some kind of it, is refused (EPERM)
 *   limit=WHAT:N         a resource limit, soft and hard
 *   close=012            these standard streams are closed
 *   ignore=SIG block=SIG a signal as it may be on entry
 *   argv0=TEXT           the first word that the program is told; no-argv: none at all
 *   dir=gone             the working directory was removed
 *   reaps=all            it takes over what its descendants leave, as a session's manager does
 *   host=NAME            what the machine is called, in a namespace of its own
 *   junk=BYTES           so much useless environment
 * What cannot be done here is exit code 77, which no command of ours has.
 */
#include "lib/core/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { CANNOT = 77, JUNK = 4096 };

struct name {
	const char *name;
	long value;
};

#define CALL(x)                                                                                    \
	{                                                                                          \
#x, SYS_##x                                                                        \
	}
#define SIGNAL(x)                                                                                  \
	{                                                                                          \
#x, SIG##x                                                                         \
	}
static const struct name calls[] = {
	CALL(bind),
	CALL(clone3),
	CALL(close_range),
	CALL(connect),
	CALL(epoll_create1),
	CALL(eventfd2),
	CALL(faccessat2),
	CALL(getrandom),
	CALL(io_uring_setup),
	CALL(memfd_create),
	CALL(perf_event_open),
	CALL(pidfd_open),
	CALL(prctl),
	CALL(process_vm_readv),
	CALL(ptrace),
	CALL(recvmmsg),
	CALL(sched_getaffinity),
	CALL(sched_setaffinity),
	CALL(sendmmsg),
	CALL(setpriority),
	CALL(setsockopt),
	CALL(statx),
	CALL(syslog),
	CALL(timerfd_create),
	CALL(userfaultfd),
};
/* Of socket(), by its first argument. */
static const struct name families[] = {
	{"inet", AF_INET}, {"inet6", AF_INET6}, {"netlink", AF_NETLINK}, {"unix", AF_UNIX}};
static const struct name errors[] = {
	{"EPERM", EPERM},   {"ENOSYS", ENOSYS}, {"EACCES", EACCES}, {"EAFNOSUPPORT", EAFNOSUPPORT},
	{"EINVAL", EINVAL}, {"EMFILE", EMFILE}, {"ENOMEM", ENOMEM}};
static const struct name signals[] = {SIGNAL(ALRM), SIGNAL(CHLD), SIGNAL(HUP),	SIGNAL(INT),
				      SIGNAL(PIPE), SIGNAL(TERM), SIGNAL(USR1), SIGNAL(XFSZ)};
static const struct name limits[] = {
	{"as", RLIMIT_AS},	   {"core", RLIMIT_CORE},   {"cpu", RLIMIT_CPU},
	{"data", RLIMIT_DATA},	   {"fsize", RLIMIT_FSIZE}, {"memlock", RLIMIT_MEMLOCK},
	{"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"stack", RLIMIT_STACK}};

static void __attribute__((noreturn)) cannot(const char *what)
{
	fprintf(stderr, "poor: %s: %s\n", what, strerror(errno));
	exit(CANNOT);
}

/* What stands before a colon is looked for. */
static const struct name *look(const struct name *names, size_t n, const char *word)
{
	size_t length = strcspn(word, ":");

	for (size_t i = 0; i < n; i++)
		if (strlen(names[i].name) == length && !strncmp(names[i].name, word, length))
			return &names[i];
	return NULL;
}

static long find(const struct name *names, size_t n, const char *word)
{
	const struct name *it = look(names, n, word);

	if (it)
		return it->value;
	errno = EINVAL;
	cannot(word);
}

/* Each refusal is a filter of its own: the kernel asks them all, and any no is one. */
static void deny(const char *what)
{
	const struct name *family = look(families, ARRAY_LEN(families), what);
	long call = family ? SYS_socket : find(calls, ARRAY_LEN(calls), what);
	const char *colon = strchr(what, ':');
	long error = colon ? find(errors, ARRAY_LEN(errors), colon + 1) : EPERM;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(family ? family->value : 0), 0,
			 !!family),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {ARRAY_LEN(code), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		cannot("seccomp");
}

static void limit(const char *what)
{
	const char *colon = strchr(what, ':');
	rlim_t n = colon ? strtoul(colon + 1, NULL, 10) : 0;
	struct rlimit both = {n, n};

	if (setrlimit((unsigned)find(limits, ARRAY_LEN(limits), what), &both))
		cannot(what);
}

static void block(const char *name)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, (int)find(signals, ARRAY_LEN(signals), name));
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		cannot(name);
}

static void ignore(const char *name)
{
	(void)signal((int)find(signals, ARRAY_LEN(signals), name), SIG_IGN);
}

static void close_streams(const char *which)
{
	for (; *which; which++)
		(void)close(*which - '0');
}

static void leave(const char *how UNUSED)
{
	char dir[] = "/tmp/poor.XXXXXX";

	if (!mkdtemp(dir) || chdir(dir) || rmdir(dir))
		cannot(dir);
}

static void junk(const char *bytes)
{
	static char value[JUNK];
	unsigned long n = strtoul(bytes, NULL, 10);

	memset(value, 'x', sizeof(value) - 1);
	for (unsigned long i = 0; i < n / JUNK; i++) {
		char name[32];

		snprintf(name, sizeof(name), "JUNK_%lu", i);
		if (setenv(name, value, 1))
			cannot(name);
	}
}

static void call_it(const char *name)
{
	if (unshare(CLONE_NEWUTS) || sethostname(name, strlen(name)))
		cannot(name);
}

static void take_over(const char *what UNUSED)
{
	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		cannot("prctl");
}

static const char *first_word;
static void name_it(const char *name) { first_word = name; }

static const struct {
	const char *word;
	void (*apply)(const char *value);
} words[] = {{"limit=", limit},	  {"close=", close_streams}, {"ignore=", ignore}, {"block=", block},
	     {"argv0=", name_it}, {"dir=", leave},	     {"junk=", junk},	  {"deny=", deny},
	     {"host=", call_it},  {"reaps=", take_over}};

static void apply(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (starts_with(word, words[i].word)) {
			words[i].apply(word + strlen(words[i].word));
			return;
		}
	errno = EINVAL;
	cannot(word);
}

int main(int argc, char **argv)
{
	char *none[] = {NULL};
	bool is_bare = false;
	const char *program;
	int i = 1;

	for (; i < argc && !streq(argv[i], "--"); i++)
		if (streq(argv[i], "no-argv"))
			is_bare = true;
		else
			apply(argv[i]);
	errno = EINVAL;
	if (i + 1 >= argc)
		cannot("no -- COMMAND");
	program = argv[i + 1];
	if (first_word)
		argv[i + 1] = (char *)first_word;
	(void)execvp(program, is_bare ? none : argv + i + 1);
	cannot(program);
}
