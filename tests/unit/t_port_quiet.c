/* Silent connections between two ends of ours on loopback, and with one that forgets them. */
#include "probes/port/quiet.h"

#include "lib/net/wire.h"
#include "tests/unit/local.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { ENDS = 2, TIMES = 2, HELLO = TALK_HELLO + 8 };
static const uint64_t times[TIMES] = {30 * NS_PER_MS, 60 * NS_PER_MS};
static const uint32_t called_speaks = UINT32_C(1) << 31;

struct end {
	struct quiet_peer peers[ENDS];
	struct quiet *q;
};

static void aim(struct quiet_peer *p, uint16_t port, unsigned char secret)
{
	assert_int_equal(addr_parse("127.0.0.1", &p->to), 0);
	addr_set_port(&p->to, port);
	memset(p->secret, secret, sizeof(p->secret));
}

static void end_open(struct end *x, size_t me)
{
	struct quiet_opts o = {.times_ns = times,
			       .ntimes = TIMES,
			       .peers = x->peers,
			       .n = ENDS,
			       .me = me,
			       .patience_ns = local_slowness() * NS_PER_S / 2};
	struct err e = {0};

	*x = (struct end){0};
	memset(o.secret, 'a' + (int)me, sizeof(o.secret));
	x->q = quiet_open(&o, &e);
	assert_non_null(x->q);
}

static void wait_for_all(struct end *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_true(quiet_wait(v[i].q, QUIET_BEGUN, -1));
	for (size_t k = 0; k < TIMES; k++)
		for (size_t i = 0; i < n; i++)
			assert_true(quiet_wait(v[i].q, k, -1));
}

static void times_are_spread(void **state UNUSED)
{
	static const struct {
		uint64_t longest_s, n, first_s, before_s;
	} cases[] = {
		{1, 1, 1, 1},
		{4, 4, 1, 3},
		{360, 8, 15, 300},
		{350, 8, 15, 300},
		{1800, 10, 60, 1200},
		{3600, 10, 120, 1800},
		{86400, 6, 3600, 43200},
	};
	uint64_t v[QUIET_TIMES];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t n = quiet_times(cases[i].longest_s * NS_PER_S, v);

		assert_int_equal(n, cases[i].n);
		assert_int_equal(v[0], cases[i].first_s * NS_PER_S);
		assert_int_equal(v[n - 1], cases[i].longest_s * NS_PER_S);
		assert_int_equal(n > 1 ? v[n - 2] : v[0], cases[i].before_s * NS_PER_S);
	}
	for (uint64_t s = 1; s < 90000; s++) {
		size_t n = quiet_times(s * NS_PER_S, v);

		assert_true(n > 0 && n <= QUIET_TIMES);
		for (size_t i = 1; i < n; i++)
			assert_true(v[i] > v[i - 1]);
	}
}

/* Each end has called the other, and each has been the first to speak on both ends' connections. */
static void both_are_alive(void **state UNUSED)
{
	struct end v[ENDS];
	struct err e = {0};
	char said[QUIET_TIMES + 1];
	uint64_t began = now_ns();

	for (size_t i = 0; i < ENDS; i++)
		end_open(&v[i], i);
	for (size_t i = 0; i < ENDS; i++)
		aim(&v[i].peers[1 - i], quiet_port(v[1 - i].q), (unsigned char)('b' - i));
	for (size_t i = 0; i < ENDS; i++)
		assert_int_equal(quiet_start(v[i].q, &e), 0);
	wait_for_all(v, ENDS);
	assert_true(now_ns() - began >= times[TIMES - 1]);
	for (size_t i = 0; i < ENDS; i++) {
		assert_int_equal(quiet_number(v[i].q), 2 * TIMES);
		assert_string_equal(quiet_said(v[i].q, 1 - i, true, said), "++");
		assert_string_equal(quiet_said(v[i].q, 1 - i, false, said), "++");
		assert_string_equal(quiet_said(v[i].q, i, true, said), "");
		assert_int_equal(quiet_again(v[i].q, 1 - i), '.');
	}
	for (size_t i = 0; i < ENDS; i++)
		quiet_close(v[i].q);
}

/* ---- what forgets ---- */
static void answer(int fd, char first)
{
	char word = 0;

	if (first && (poll(NULL, 0, 30), send(fd, &word, 1, MSG_NOSIGNAL) != 1))
		return;
	if (recv(fd, &word, 1, 0) == 1 && !first)
		(void)!send(fd, &word, 1, MSG_NOSIGNAL);
}

static void forget(int fd) { (void)poll(&(struct pollfd){.fd = fd}, 1, 20000); }
static void hang_up(int fd) { (void)shutdown(fd, SHUT_RDWR); }

static void reset(int fd)
{
	const struct linger at_once = {.l_onoff = 1};

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	(void)close(fd);
}

/* The shorter time is well, and what is new. */
static void serve_one(int fd, void (*then)(int fd))
{
	unsigned char hello[HELLO];
	struct wire_in w = {.p = hello + TALK_HELLO, .n = 8};
	uint32_t time;
	char heard;

	if (recv(fd, hello, sizeof(hello), MSG_WAITALL) != HELLO)
		_exit(0);
	assert_int_equal(wire_u32(&w), 0);
	time = wire_u32(&w);
	(void)!send(fd, "", 1, MSG_NOSIGNAL);
	if (recv(fd, &heard, 1, 0) != 1)
		_exit(0);
	if ((time & ~called_speaks) == 1)
		then(fd);
	else
		answer(fd, (time & called_speaks) != 0);
	_exit(0);
}

/* @again: new ones are taken, too. */
static pid_t forgetful(uint16_t *ret_port, void (*then)(int fd), bool again)
{
	union addr at = {.v4 = {.sin_family = AF_INET}};
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof(at);
	pid_t parent = getpid(), pid;

	assert_int_equal(
		bind(s, &at.sa, sizeof(at.v4)) || listen(s, 16) || getsockname(s, &at.sa, &n), 0);
	*ret_port = addr_port(&at);
	pid = fork();
	if (pid) {
		(void)close(s);
		return pid;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGCHLD, SIG_IGN);
	for (int i = 0; getppid() == parent && (again || i < 2 * TIMES); i++) {
		int fd = accept(s, NULL, NULL);

		if (!fork()) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			serve_one(fd, then);
		}
		(void)close(fd);
	}
	(void)close(s);
	(void)poll(NULL, 0, 20000);
	_exit(0);
}

static void dies(void (*then)(int fd), bool again, const char *expected, char expected_again)
{
	struct end x;
	struct err e = {0};
	char said[QUIET_TIMES + 1];
	uint16_t port;
	pid_t pid = forgetful(&port, then, again);

	end_open(&x, 0);
	aim(&x.peers[1], port, 'b');
	assert_int_equal(quiet_start(x.q, &e), 0);
	wait_for_all(&x, 1);
	assert_string_equal(quiet_said(x.q, 1, true, said), expected);
	assert_int_equal(quiet_again(x.q, 1), expected_again);
	quiet_close(x.q);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void what_is_forgotten_is_dead(void **state UNUSED)
{
	dies(forget, true, "+s", '+');
	dies(reset, true, "+r", '+');
	dies(hang_up, true, "+c", '+');
}

static void where_the_way_is_gone_a_new_one_is_dead_too(void **state UNUSED)
{
	dies(reset, false, "+r", 'r');
}

static void strangers_get_no_word(void **state UNUSED)
{
	struct end x;
	struct err e = {0};
	unsigned char hello[HELLO] = "wskidle\1aaaaaaaaaaaaaaab";
	struct quiet_peer p;
	char word;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	end_open(&x, 0);
	assert_int_equal(quiet_start(x.q, &e), 0);
	aim(&p, quiet_port(x.q), 0);
	assert_int_equal(connect(fd, &p.to.sa, addr_len(&p.to)), 0);
	assert_int_equal(send(fd, hello, sizeof(hello), MSG_NOSIGNAL), sizeof(hello));
	assert_int_equal(recv(fd, &word, 1, 0), 0);
	(void)close(fd);
	wait_for_all(&x, 1);
	quiet_close(x.q);
}

/* Who called has given it up before it was answered, as where a host is slow: nothing has died. */
static void what_was_given_up_is_not_dead(void **state UNUSED)
{
	struct end x;
	struct err e = {0};
	unsigned char hello[HELLO] = "wskidle\1aaaaaaaaaaaaaaaa";
	struct wire_out w = {.p = hello + TALK_HELLO, .cap = HELLO - TALK_HELLO};
	char word, said[QUIET_TIMES + 1];
	struct quiet_peer p;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	wire_put_u32(&w, 1);
	wire_put_u32(&w, called_speaks | 1);
	end_open(&x, 0);
	assert_int_equal(quiet_start(x.q, &e), 0);
	aim(&p, quiet_port(x.q), 0);
	assert_int_equal(connect(fd, &p.to.sa, addr_len(&p.to)), 0);
	assert_int_equal(send(fd, hello, sizeof(hello), MSG_NOSIGNAL), sizeof(hello));
	assert_int_equal(recv(fd, &word, 1, 0), 1);
	(void)close(fd);
	wait_for_all(&x, 1);
	assert_string_equal(quiet_said(x.q, 1, false, said), "");
	quiet_close(x.q);
}

/* Who has bad news need not wait for the end. */
static void waiting_can_be_ended(void **state UNUSED)
{
	int pipes[2];
	struct end x;
	struct err e = {0};

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(write(pipes[1], "", 1), 1);
	end_open(&x, 0);
	assert_int_equal(quiet_start(x.q, &e), 0);
	assert_false(quiet_wait(x.q, 1, pipes[0]));
	quiet_close(x.q);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_spread),
		cmocka_unit_test(both_are_alive),
		cmocka_unit_test(what_is_forgotten_is_dead),
		cmocka_unit_test(where_the_way_is_gone_a_new_one_is_dead_too),
		cmocka_unit_test(strangers_get_no_word),
		cmocka_unit_test(what_was_given_up_is_not_dead),
		cmocka_unit_test(waiting_can_be_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
