/*
 * TCP connects against this host's loopback; a scan of many ports starts no more threads than it
 * may use processors. With arguments it is the lab's probe:
 * t_scan ADDR PORT DEVICE|- SOURCE|- MILLISECONDS [COUNT].
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/net/scan.h"
#include "tests/unit/made_root.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PORTS = 3 * SCAN_FEW };

struct seen {
	size_t ticks, threads;
};

static size_t count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	size_t n = 0;

	assert_non_null(d);
	for (struct dirent *entry; (entry = readdir(d));)
		n += *entry->d_name != '.';
	(void)closedir(d);
	return n;
}

static void tick(void *arg, size_t done UNUSED, size_t total)
{
	struct seen *seen = arg;
	size_t now = count_threads();

	assert_int_equal(total, PORTS);
	seen->ticks++;
	seen->threads = now > seen->threads ? now : seen->threads;
}

static void a_share_of_one_processor_is_one_thread(void **state)
{
	static struct scan_probe v[PORTS];
	struct seen seen = {0};
	const struct scan_opts o = {.patience_ns = 100000000, .tick = tick, .arg = &seen};
	struct err e = {0};
	size_t before = count_threads();

	(void)state;
	made_root_begin("0::/a\n");
	made_root_put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
	for (size_t i = 0; i < PORTS; i++) {
		v[i].to.v4.sin_family = AF_INET;
		v[i].to.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		v[i].to.v4.sin_port = htons((uint16_t)(i + 1));
	}
	assert_int_equal(scan_tcp(v, PORTS, &o, &e), 0);
	assert_true(seen.ticks > 0);
	assert_int_equal(seen.threads, before);
}

static struct err err;

static union addr at(const char *host, uint16_t port)
{
	union addr a;

	if (addr_parse(host, &a))
		fail_msg("%s", host);
	addr_set_port(&a, port);
	return a;
}

/* Bound, and listening unless @backlog is negative; the port is in @ret. */
static int server(const char *host, int backlog, union addr *ret)
{
	socklen_t len = sizeof(*ret);
	int fd;

	*ret = at(host, 0);
	fd = socket(ret->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, &ret->sa, addr_len(ret)), 0);
	if (backlog >= 0)
		assert_int_equal(listen(fd, backlog), 0);
	assert_int_equal(getsockname(fd, &ret->sa, &len), 0);
	return fd;
}

static struct scan_probe probe(union addr to) { return (struct scan_probe){.to = to}; }

static int scan_all(struct scan_probe *p, size_t n, uint64_t patience_ns)
{
	const struct scan_opts o = {.patience_ns = patience_ns};

	return scan_tcp(p, n, &o, &err);
}

static void t_open_and_refused(void **state)
{
	static const char *const hosts[] = {"127.0.0.1", "::1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		struct scan_probe p[2];
		union addr to;
		AUTO_CLOSE UNUSED int open_fd = server(hosts[i], 8, &to);
		AUTO_CLOSE int closed_fd = -1;

		p[0] = probe(to);
		closed_fd = server(hosts[i], -1, &to);
		p[1] = probe(to);
		assert_int_equal(scan_all(p, 2, 2 * NS_PER_S), 0);
		assert_int_equal(p[0].state, TCP_OPEN);
		assert_int_equal(p[0].error, 0);
		assert_int_equal(p[1].state, TCP_REFUSED);
		assert_int_equal(p[1].error, ECONNREFUSED);
		assert_true(p[0].took_us > 0 && p[0].took_us < 1000000);
	}
}

/* The end that was connected to reads an orderly end, not a reset. */
static void t_closes_normally(void **state)
{
	union addr to;
	AUTO_CLOSE UNUSED int fd = server("127.0.0.1", 8, &to);
	AUTO_CLOSE int conn = -1;
	struct scan_probe p = probe(to);
	char c;

	(void)state;
	assert_int_equal(scan_all(&p, 1, 2 * NS_PER_S), 0);
	conn = accept(fd, NULL, NULL);
	assert_true(conn >= 0);
	assert_int_equal(recv(conn, &c, 1, 0), 0);
}

/* A full accept queue drops what comes: the nearest thing to a firewall without one. */
static void t_filtered_takes_its_patience(void **state)
{
	union addr to;
	AUTO_CLOSE UNUSED int fd = server("127.0.0.1", 0, &to);
	struct scan_probe fill = probe(to), p[3];

	(void)state;
	assert_int_equal(scan_all(&fill, 1, 2 * NS_PER_S), 0);
	assert_int_equal(fill.state, TCP_OPEN);
	for (unsigned i = 0; i < ARRAY_LEN(p); i++)
		p[i] = probe(to);
	assert_int_equal(scan_all(p, ARRAY_LEN(p), 100 * NS_PER_MS), 0);
	for (unsigned i = 0; i < ARRAY_LEN(p); i++) {
		assert_int_equal(p[i].state, TCP_FILTERED);
		assert_int_equal(p[i].error, ETIMEDOUT);
		assert_true(p[i].took_us >= 100000 && p[i].took_us < 1000000);
	}
}

/* Where the one who connected to @server came from. */
static union addr caller(int server)
{
	union addr from = {0};
	socklen_t len = sizeof(from);
	AUTO_CLOSE UNUSED int fd = accept(server, &from.sa, &len);

	return from;
}

static void t_pinned(void **state)
{
	static const struct {
		const char *device;
		enum tcp_state state;
		int error;
	} cases[] = {
		{"lo", TCP_OPEN, 0},
		{"nosuchif0", TCP_ERROR, ENODEV},
		{"lo-and-then-a-name-that-is-too-long", TCP_ERROR, ENODEV},
		{"", TCP_ERROR, ENODEV},
	};
	union addr to, source = at("127.0.0.5", 0), from;
	AUTO_CLOSE int fd = server("127.0.0.1", 64, &to);
	struct scan_from pins[ARRAY_LEN(cases)];
	struct scan_probe p[ARRAY_LEN(cases)];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		pins[i] = (struct scan_from){cases[i].device, &source};
		p[i] = (struct scan_probe){.to = to, .from = &pins[i]};
	}
	assert_int_equal(scan_all(p, ARRAY_LEN(p), 2 * NS_PER_S), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(p[i].state, cases[i].state);
		assert_int_equal(p[i].error, cases[i].error);
	}
	from = caller(fd);
	assert_true(addr_equal(&from, &to)); /* the device leaves the kernel its choice */
}

static void t_from_an_address(void **state)
{
	union addr to, source = at("127.0.0.5", 999), absent = at("192.0.2.1", 0), from;
	AUTO_CLOSE int fd = server("127.0.0.1", 64, &to);
	struct scan_opts o = {.source = &source};
	struct scan_probe p = probe(to);

	(void)state;
	assert_int_equal(scan_tcp(&p, 1, &o, &err), 0);
	assert_int_equal(p.state, TCP_OPEN);
	from = caller(fd);
	assert_true(addr_equal(&from, &source));
	assert_int_not_equal(addr_port(&from), 999);
	o.source = &absent;
	assert_int_equal(scan_tcp(&p, 1, &o, &err), 0);
	assert_int_equal(p.state, TCP_ERROR);
	assert_int_equal(p.error, EADDRNOTAVAIL);
}

/* In this process SO_BINDTODEVICE is not permitted, as it was before Linux 5.7. */
static void forbid_binding(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setsockopt, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SO_BINDTODEVICE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {ARRAY_LEN(code), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(9);
}

static void forbidden_child(union addr to)
{
	union addr source = at("127.0.0.5", 0);
	const struct scan_from pin = {"lo", &source};
	const struct scan_opts alone = {.device = "lo"};
	struct scan_probe p = {.to = to, .from = &pin};

	forbid_binding();
	if (scan_all(&p, 1, 2 * NS_PER_S) || p.state != TCP_OPEN)
		_exit(1);
	p.from = NULL;
	if (scan_tcp(&p, 1, &alone, &err))
		_exit(2);
	_exit(p.state == TCP_ERROR && p.error == EPERM ? 0 : 3);
}

static void t_device_not_permitted(void **state)
{
	union addr to;
	AUTO_CLOSE int fd = server("127.0.0.1", 8, &to);
	pid_t pid = fork();
	union addr from, source = at("127.0.0.5", 0);
	int status;

	(void)state;
	if (!pid)
		forbidden_child(to);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	from = caller(fd);
	assert_true(addr_equal(&from, &source));
}

static void t_no_such_family(void **state)
{
	struct scan_probe p = {0};

	(void)state;
	p.to.sa.sa_family = AF_MAX;
	assert_int_equal(scan_all(&p, 1, 2 * NS_PER_S), 0);
	assert_int_equal(p.state, TCP_ERROR);
	assert_int_equal(p.error, EAFNOSUPPORT);
	assert_int_equal(scan_all(NULL, 0, 0), 0);
}

/* 500 probes with 40 descriptors to be had: fewer at a time, and all are answered. */
static void t_short_of_descriptors(void **state)
{
	enum { N = 500 };
	static struct scan_probe p[N];
	struct rlimit old, few;
	union addr to, closed;
	AUTO_CLOSE UNUSED int fd = server("127.0.0.1", 1024, &to);
	AUTO_CLOSE UNUSED int closed_fd = server("127.0.0.1", -1, &closed);
	int rc;

	(void)state;
	for (size_t i = 0; i < N; i++)
		p[i] = probe(i % 2 ? closed : to);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = 40;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	rc = scan_all(p, N, 2 * NS_PER_S);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(rc, 0);
	for (size_t i = 0; i < N; i++)
		if (p[i].state != (i % 2 ? TCP_REFUSED : TCP_OPEN))
			fail_msg("%zu: %s (%s)", i, tcp_state_name(p[i].state),
				 strerror(p[i].error));
}

static void interrupted_child(const union addr *full)
{
	struct scan_probe p[3];

	for (size_t i = 0; i < ARRAY_LEN(p); i++)
		p[i] = probe(*full);
	interrupt_install();
	if (!fork()) {
		(void)usleep(50000);
		(void)kill(getppid(), SIGINT);
		_exit(0);
	}
	if (scan_all(p, ARRAY_LEN(p), 10 * NS_PER_S))
		_exit(1);
	for (size_t i = 0; i < ARRAY_LEN(p); i++)
		if (p[i].state != TCP_PENDING)
			_exit(2);
	_exit(interrupt_pending() == SIGINT ? 0 : 3);
}

static void t_interrupted(void **state)
{
	union addr to;
	AUTO_CLOSE UNUSED int fd = server("127.0.0.1", 0, &to);
	struct scan_probe fill = probe(to);
	uint64_t start = now_ns();
	pid_t pid;
	int status;

	(void)state;
	assert_int_equal(scan_all(&fill, 1, 2 * NS_PER_S), 0);
	pid = fork();
	if (!pid)
		interrupted_child(&to);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(now_ns() - start < 5 * NS_PER_S);
}

enum { MANY = SCAN_FEW + 2000, SILENT_FROM = SCAN_FEW, FEW_FILES = 256 };
static struct scan_probe many[MANY];

/* The first silent ones were given up, and the others are not through their first try. */
static void end_it(void *arg UNUSED, size_t done UNUSED, size_t total UNUSED)
{
	if (many[SILENT_FROM].state == TCP_FILTERED)
		(void)raise(SIGINT);
}

static void asked_once_child(const union addr *refuses, const union addr *silent)
{
	const struct scan_opts o = {.tick = end_it, .workers = 1};
	struct rlimit few;

	if (getrlimit(RLIMIT_NOFILE, &few))
		_exit(1);
	few.rlim_cur = few.rlim_max = FEW_FILES;
	if (setrlimit(RLIMIT_NOFILE, &few))
		_exit(1);
	for (size_t i = 0; i < MANY; i++)
		many[i] = probe(i < SILENT_FROM ? *refuses : *silent);
	interrupt_install();
	if (scan_tcp(many, MANY, &o, &err) || !interrupt_pending())
		_exit(2);
	for (size_t i = 0; i < MANY; i++)
		if (many[i].state != (i < SILENT_FROM ? TCP_REFUSED : TCP_PENDING))
			_exit(3);
	_exit(0);
}

/* Among many that answer one try is not enough to call a port filtered. */
static void t_interrupted_when_asked_once(void **state)
{
	union addr silent, refuses;
	AUTO_CLOSE UNUSED int full = server("127.0.0.1", 0, &silent);
	AUTO_CLOSE UNUSED int closed = server("127.0.0.1", -1, &refuses);
	struct scan_probe fill = probe(silent);
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(scan_all(&fill, 1, 2 * NS_PER_S), 0);
	pid = fork();
	if (!pid)
		asked_once_child(&refuses, &silent);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* For the lab: one line per probe. */
static int from_lab(int argc, char **argv)
{
	size_t n = argc > 6 ? strtoul(argv[6], NULL, 10) : 1;
	AUTO_FREE struct scan_probe *p = calloc(n, sizeof(*p));
	struct scan_opts o = {.patience_ns = strtoul(argv[5], NULL, 10) * NS_PER_MS};
	struct scan_from pin = {.device = argv[3]};
	union addr to, source;

	if (!p || addr_parse(argv[1], &to) || (*argv[4] != '-' && addr_parse(argv[4], &source)))
		return 2;
	addr_set_port(&to, (uint16_t)strtoul(argv[2], NULL, 10));
	o.source = pin.source = *argv[4] == '-' ? NULL : &source;
	for (size_t i = 0; i < n; i++)
		p[i] = (struct scan_probe){.to = to, .from = *argv[3] == '-' ? NULL : &pin};
	if (scan_tcp(p, n, &o, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 3;
	}
	for (size_t i = 0; i < n; i++)
		printf("%s %s ms=%.0f\n", tcp_state_name(p[i].state),
		       p[i].error ? strerrorname_np(p[i].error) : "-", (double)p[i].took_us / 1e3);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_share_of_one_processor_is_one_thread),
		cmocka_unit_test(t_open_and_refused),
		cmocka_unit_test(t_closes_normally),
		cmocka_unit_test(t_filtered_takes_its_patience),
		cmocka_unit_test(t_pinned),
		cmocka_unit_test(t_from_an_address),
		cmocka_unit_test(t_device_not_permitted),
		cmocka_unit_test(t_no_such_family),
		cmocka_unit_test(t_short_of_descriptors),
		cmocka_unit_test(t_interrupted),
		cmocka_unit_test(t_interrupted_when_asked_once),
	};

	return argc > 5 ? from_lab(argc, argv)
			: cmocka_run_group_tests(tests, made_root, made_root_remove);
}
