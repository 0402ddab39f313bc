/*
 * TCP probes against this host's loopback. With arguments it is the lab's
 * probe: t_probe_tcp ADDR PORT DEVICE|- SOURCE|- MILLISECONDS [COUNT].
 */
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/net/probe_tcp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

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

static struct tcp_probe probe(union addr to)
{
	return (struct tcp_probe){.to = to, .deadline_ns = 2 * NS_PER_S};
}

static void t_open_and_refused(void **state)
{
	static const char *const hosts[] = {"127.0.0.1", "::1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		struct tcp_probe p[2];
		union addr to;
		AUTO_CLOSE UNUSED int open_fd = server(hosts[i], 8, &to);
		AUTO_CLOSE int closed_fd = -1;

		p[0] = probe(to);
		closed_fd = server(hosts[i], -1, &to);
		p[1] = probe(to);
		assert_int_equal(tcp_probe_all(p, 2, 0, &err), 0);
		assert_int_equal(p[0].state, TCP_OPEN);
		assert_int_equal(p[0].error, 0);
		assert_true(addr_equal(&p[0].local, &to));
		assert_true(addr_port(&p[0].local) != 0);
		assert_int_equal(p[1].state, TCP_REFUSED);
		assert_int_equal(p[1].error, ECONNREFUSED);
		assert_true(p[0].took_ns > 0 && p[0].took_ns < NS_PER_S);
		assert_false(p[0].bound_to_device);
	}
}

/* The end that was connected to reads an orderly end, not a reset. */
static void t_closes_normally(void **state)
{
	union addr to;
	AUTO_CLOSE UNUSED int fd = server("127.0.0.1", 8, &to);
	AUTO_CLOSE int conn = -1;
	struct tcp_probe p = probe(to);
	char c;

	(void)state;
	assert_int_equal(tcp_probe_all(&p, 1, 0, &err), 0);
	conn = accept(fd, NULL, NULL);
	assert_true(conn >= 0);
	assert_int_equal(recv(conn, &c, 1, 0), 0);
}

/* A full accept queue drops what comes: the nearest thing to a firewall without one. */
static void t_filtered_takes_its_deadline(void **state)
{
	union addr to;
	AUTO_CLOSE UNUSED int fd = server("127.0.0.1", 0, &to);
	struct tcp_probe fill = probe(to), p[3];
	uint64_t start, took;

	(void)state;
	assert_int_equal(tcp_probe_all(&fill, 1, 0, &err), 0);
	assert_int_equal(fill.state, TCP_OPEN);
	for (unsigned i = 0; i < ARRAY_LEN(p); i++) {
		p[i] = probe(to);
		p[i].deadline_ns = 100 * NS_PER_MS;
	}
	start = now_ns();
	assert_int_equal(tcp_probe_all(p, ARRAY_LEN(p), 2, &err), 0);
	took = now_ns() - start;
	for (unsigned i = 0; i < ARRAY_LEN(p); i++) {
		assert_int_equal(p[i].state, TCP_FILTERED);
		assert_int_equal(p[i].error, ETIMEDOUT);
		assert_true(p[i].took_ns >= 100 * NS_PER_MS && p[i].took_ns < NS_PER_S);
		assert_true(addr_equal(&p[i].local, &to));
	}
	assert_true(took >= 200 * NS_PER_MS); /* two at a time: two rounds */
}

static void t_pinned(void **state)
{
	union addr to, source = at("127.0.0.5", 999), absent = at("192.0.2.1", 0);
	AUTO_CLOSE UNUSED int fd = server("127.0.0.1", 64, &to);
	struct tcp_probe p[6];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(p); i++)
		p[i] = probe(to);
	p[0].device = "lo";
	p[1].device = "nosuchif0";
	p[2].device = "lo-and-then-a-name-that-is-too-long";
	p[3].device = "";
	p[4].source = &source;
	p[5].source = &absent;
	assert_int_equal(tcp_probe_all(p, ARRAY_LEN(p), 0, &err), 0);
	assert_int_equal(p[0].state, TCP_OPEN);
	assert_true(p[0].bound_to_device);
	for (size_t i = 1; i < 4; i++) {
		assert_int_equal(p[i].state, TCP_ERROR);
		assert_int_equal(p[i].error, ENODEV);
		assert_false(p[i].bound_to_device);
	}
	assert_int_equal(p[4].state, TCP_OPEN);
	assert_true(addr_equal(&p[4].local, &source));
	assert_int_not_equal(addr_port(&p[4].local), 999);
	assert_int_equal(p[5].state, TCP_ERROR);
	assert_int_equal(p[5].error, EADDRNOTAVAIL);
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
	struct tcp_probe p[2] = {probe(to), probe(to)};

	forbid_binding();
	p[0].device = p[1].device = "lo";
	p[0].source = &source;
	if (tcp_probe_all(p, 2, 0, &err))
		_exit(1);
	if (p[0].state != TCP_OPEN || p[0].bound_to_device || !addr_equal(&p[0].local, &source))
		_exit(2);
	_exit(p[1].state == TCP_ERROR && p[1].error == EPERM ? 0 : 3);
}

static void t_device_not_permitted(void **state)
{
	union addr to;
	AUTO_CLOSE UNUSED int fd = server("127.0.0.1", 8, &to);
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid)
		forbidden_child(to);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void t_no_such_family(void **state)
{
	struct tcp_probe p = {.deadline_ns = NS_PER_S};

	(void)state;
	p.to.sa.sa_family = AF_MAX;
	assert_int_equal(tcp_probe_all(&p, 1, 0, &err), 0);
	assert_int_equal(p.state, TCP_ERROR);
	assert_int_equal(p.error, EAFNOSUPPORT);
	assert_int_equal(tcp_probe_all(NULL, 0, 0, &err), 0);
}

/* 500 probes with 40 descriptors to be had: fewer at a time, and all are answered. */
static void t_short_of_descriptors(void **state)
{
	enum { N = 500 };
	static struct tcp_probe p[N];
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
	rc = tcp_probe_all(p, N, 0, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(rc, 0);
	for (size_t i = 0; i < N; i++)
		if (p[i].state != (i % 2 ? TCP_REFUSED : TCP_OPEN))
			fail_msg("%zu: %s (%s)", i, tcp_state_name(p[i].state),
				 strerror(p[i].error));
}

static void interrupted_child(const union addr *full)
{
	struct tcp_probe p[3];

	for (size_t i = 0; i < ARRAY_LEN(p); i++) {
		p[i] = probe(*full);
		p[i].deadline_ns = 10 * NS_PER_S;
	}
	interrupt_install();
	if (!fork()) {
		(void)usleep(50000);
		(void)kill(getppid(), SIGINT);
		_exit(0);
	}
	if (tcp_probe_all(p, ARRAY_LEN(p), 2, &err))
		_exit(1);
	for (size_t i = 0; i < ARRAY_LEN(p); i++)
		if (p[i].state != TCP_PENDING || p[i].io.fd > 0)
			_exit(2);
	_exit(interrupt_pending() == SIGINT ? 0 : 3);
}

static void t_interrupted(void **state)
{
	union addr to;
	AUTO_CLOSE UNUSED int fd = server("127.0.0.1", 0, &to);
	struct tcp_probe fill = probe(to);
	uint64_t start = now_ns();
	pid_t pid;
	int status;

	(void)state;
	assert_int_equal(tcp_probe_all(&fill, 1, 0, &err), 0);
	pid = fork();
	if (!pid)
		interrupted_child(&to);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(now_ns() - start < 5 * NS_PER_S);
}

/* For the lab: one line per probe. */
static int from_lab(int argc, char **argv)
{
	size_t n = argc > 6 ? strtoul(argv[6], NULL, 10) : 1;
	AUTO_FREE struct tcp_probe *p = calloc(n, sizeof(*p));
	union addr to, source;
	struct addr_text text;

	if (!p || addr_parse(argv[1], &to) || (*argv[4] != '-' && addr_parse(argv[4], &source)))
		return 2;
	addr_set_port(&to, (uint16_t)strtoul(argv[2], NULL, 10));
	for (size_t i = 0; i < n; i++)
		p[i] = (struct tcp_probe){
			.to = to,
			.device = *argv[3] == '-' ? NULL : argv[3],
			.source = *argv[4] == '-' ? NULL : &source,
			.deadline_ns = strtoul(argv[5], NULL, 10) * NS_PER_MS,
		};
	if (tcp_probe_all(p, n, 0, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 3;
	}
	for (size_t i = 0; i < n; i++)
		printf("%s %s ms=%.0f device=%d local=%s\n", tcp_state_name(p[i].state),
		       p[i].error ? strerrorname_np(p[i].error) : "-", (double)p[i].took_ns / 1e6,
		       p[i].bound_to_device, addr_print(&p[i].local, &text));
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_open_and_refused),
		cmocka_unit_test(t_closes_normally),
		cmocka_unit_test(t_filtered_takes_its_deadline),
		cmocka_unit_test(t_pinned),
		cmocka_unit_test(t_device_not_permitted),
		cmocka_unit_test(t_no_such_family),
		cmocka_unit_test(t_short_of_descriptors),
		cmocka_unit_test(t_interrupted),
	};

	return argc > 5 ? from_lab(argc, argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
