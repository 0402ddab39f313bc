/* Where we come late, an answer that is there already is not taken for silence. */
#include "lib/core/units.h"
#include "lib/net/scan.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include <cmocka.h>

static const uint64_t PATIENCE_NS = 20 * NS_PER_MS;
static bool late;

/* Once, the machine has no time for us after we looked, and what comes meanwhile was not seen. */
static bool is_late(void)
{
	uint64_t end = now_ns() + 2 * PATIENCE_NS;

	if (!late)
		return false;
	while (now_ns() < end)
		;
	late = false;
	return true;
}

/* In place of the C library's. */
int epoll_wait(int fd, struct epoll_event *v, int n, int ms)
{
	return is_late() ? 0 : (int)syscall(SYS_epoll_pwait, fd, v, n, ms, NULL, 0);
}

int poll(struct pollfd *v, nfds_t n, int ms)
{
	const struct timespec t = {ms / 1000, ms % 1000 * NS_PER_MS};

	return is_late() ? 0 : (int)syscall(SYS_ppoll, v, n, &t, NULL, 0);
}

/* A port of this host, bound, in @p. */
static int bound(int type, struct scan_probe *p)
{
	socklen_t len = sizeof(p->to);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	*p = (struct scan_probe){0};
	assert_int_equal(addr_parse("127.0.0.1", &p->to), 0);
	assert_int_equal(bind(fd, &p->to.sa, addr_len(&p->to)), 0);
	assert_int_equal(getsockname(fd, &p->to.sa, &len), 0);
	return fd;
}

static void tcp(void **state)
{
	const struct scan_opts o = {.patience_ns = PATIENCE_NS};
	struct scan_probe p;
	AUTO_CLOSE int fd = bound(SOCK_STREAM, &p);
	struct err e;

	(void)state;
	assert_int_equal(listen(fd, 8), 0);
	late = true;
	assert_int_equal(scan_tcp(&p, 1, &o, &e), 0);
	assert_false(late);
	assert_int_equal(p.state, TCP_OPEN);
}

static void udp(void **state)
{
	const struct scan_opts o = {.patience_ns = PATIENCE_NS};
	struct scan_probe p;
	struct err e;

	(void)state;
	(void)close(bound(SOCK_DGRAM, &p));
	late = true;
	assert_int_equal(scan_udp(&p, 1, &o, &e), 0);
	assert_false(late);
	assert_int_equal(p.state, TCP_REFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tcp),
		cmocka_unit_test(udp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
