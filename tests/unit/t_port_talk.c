/* Real data between two ends of ours on loopback, and what strangers get. */
#include "probes/port/talk.h"

#include "lib/core/units.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

static const unsigned char secret[TALK_SECRET] = "0123456789abcde";

static struct talk aim(uint16_t port)
{
	struct talk t = {.bytes = 1 << 20};

	assert_int_equal(addr_parse("127.0.0.1", &t.to), 0);
	addr_set_port(&t.to, port);
	memcpy(t.secret, secret, sizeof(secret));
	return t;
}

static void many(void **state)
{
	struct err e = {0};
	struct talk_door *d = talk_open(NULL, secret, &e);
	struct talk v[100];

	(void)state;
	assert_non_null(d);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		v[i] = aim(talk_port(d));
		v[i].bytes = 1 + i * 5000;
	}
	assert_int_equal(talk_run(v, ARRAY_LEN(v), 7, NS_PER_S, -1, &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		assert_int_equal(v[i].state, TALK_DONE);
		assert_int_equal(v[i].arrived, v[i].bytes);
		assert_true(v[i].path_mtu > 1000);
	}
	talk_close(d);
}

static void for_a_while(void **state)
{
	struct err e = {0};
	struct talk_door *d = talk_open(NULL, secret, &e);
	struct talk t = aim(talk_port(d));

	(void)state;
	t.bytes = 0;
	t.for_ns = NS_PER_S / 10;
	assert_int_equal(talk_run(&t, 1, 1, NS_PER_S, -1, &e), 0);
	assert_int_equal(t.state, TALK_DONE);
	assert_true(t.arrived > 0 && t.took_ns >= t.for_ns);
	talk_close(d);
}

/* A wrong secret gets no word; nobody there, no connection; both are told within the limit. */
static void strangers(void **state)
{
	struct err e = {0};
	struct talk_door *d = talk_open(NULL, secret, &e);
	struct talk v[2] = {aim(talk_port(d)), aim(talk_port(d))};
	uint64_t start = now_ns();

	(void)state;
	v[0].secret[3] ^= 1;
	addr_set_port(&v[1].to, 1);
	assert_int_equal(talk_run(v, 2, 2, NS_PER_S, -1, &e), 0);
	assert_int_equal(v[0].state, TALK_UNREACHED);
	assert_int_equal(v[1].state, TALK_UNREACHED);
	assert_true(v[0].accepted && v[0].heard);
	assert_false(v[1].accepted || v[1].heard);
	assert_true(now_ns() - start < 5 * NS_PER_S);
	talk_close(d);
}

static pid_t server; /* of the test that runs */

static int end_server(void **state)
{
	(void)state;
	if (server <= 0)
		return 0;
	(void)kill(server, SIGKILL);
	(void)waitpid(server, NULL, 0);
	server = 0;
	return 0;
}

/* A process that takes one connection, answers its hello with @word, and does @then. */
static void listener(struct talk *t, char word, void (*then)(int fd))
{
	AUTO_CLOSE int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof(t->to);
	char hello[TALK_HELLO];
	int fd;

	assert_int_equal(bind(s, &t->to.sa, sizeof(t->to.v4)) || listen(s, 1) ||
				 getsockname(s, &t->to.sa, &n),
			 0);
	server = fork();
	assert_true(server >= 0);
	if (server)
		return;
	fd = accept(s, NULL, NULL);
	if (recv(fd, hello, sizeof(hello), MSG_WAITALL) == TALK_HELLO)
		(void)!send(fd, &word, 1, MSG_NOSIGNAL);
	then(fd);
	_exit(0);
}

/* Which end gave up: not the other one, if its process goes on. */
static bool is_there(void) { return !waitpid(server, NULL, WNOHANG); }

enum { LONG_MS = 60000 };
static void wait_long(int fd)
{
	(void)fd;
	(void)poll(NULL, 0, LONG_MS);
}

static void hang_up(int fd) { (void)close(fd); }

/* A server of something else, which has an answer to everything. */
static void other_words(void **state)
{
	struct talk t = aim(0);
	struct err e = {0};

	(void)state;
	listener(&t, 'H', hang_up);
	assert_int_equal(talk_run(&t, 1, 1, 3 * NS_PER_S, -1, &e), 0);
	assert_int_equal(t.state, TALK_UNREACHED);
	assert_true(t.accepted && t.heard);
}

/* Whoever answers the hello and then reads nothing: that is what a black hole looks like. */
static void stall(void **state)
{
	struct talk t = aim(0);
	struct err e = {0};

	(void)state;
	t.bytes = 64 << 20;
	listener(&t, '\0', wait_long);
	assert_int_equal(talk_run(&t, 1, 1, NS_PER_S / 2, -1, &e), 0);
	assert_int_equal(t.state, TALK_STALLED);
	assert_true(is_there());
}

/* Every few milliseconds it takes some, for longer than anybody has time; a machine that lets
 * it wait is told of in *@gap_ns, which both processes have. */
static uint64_t *gap_ns;
static void drip(int fd)
{
	unsigned char bite[64 << 10];
	uint64_t begun = now_ns(), last = begun, now;

	while (recv(fd, bite, sizeof(bite), 0) > 0 && last - begun < LONG_MS * NS_PER_MS) {
		now = now_ns();
		*gap_ns = now - last > *gap_ns ? now - last : *gap_ns;
		last = now;
		(void)poll(NULL, 0, 10);
	}
}

/* How long until one that always goes on was given up; 0 where it did not always go on. */
static uint64_t given_up_after(uint64_t stall_ns)
{
	struct talk t = aim(0);
	uint64_t took, start = now_ns();
	struct err e = {0};

	t.bytes = UINT64_C(1) << 30;
	*gap_ns = 0;
	listener(&t, '\0', drip);
	assert_int_equal(talk_run(&t, 1, 1, stall_ns, -1, &e), 0);
	took = now_ns() - start;
	assert_int_equal(t.state, TALK_STALLED);
	assert_true(t.began && is_there());
	(void)end_server(NULL);
	return *gap_ns < stall_ns / 2 ? took : 0;
}

static void no_end(void **state)
{
	const uint64_t stall_ns = NS_PER_S / 4;
	uint64_t took = 0;

	(void)state;
	gap_ns = mmap(NULL, sizeof(*gap_ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_true(gap_ns != MAP_FAILED);
	for (int i = 0; i < 20 && !took; i++)
		took = given_up_after(stall_ns);
	assert_true(took >= TALK_STALLS * stall_ns);
	(void)munmap(gap_ns, sizeof(*gap_ns));
}

enum { LATE_MS = 600 };
static void read_late(int fd)
{
	unsigned char bite[4096], answer[8] = {0};
	uint64_t all = 0;
	ssize_t n;

	(void)poll(NULL, 0, LATE_MS);
	while ((n = recv(fd, bite, sizeof(bite), 0)) > 0)
		all += (uint64_t)n;
	for (size_t i = 0; i < sizeof(answer); i++)
		answer[i] = (unsigned char)(all >> 8 * i);
	(void)!send(fd, answer, sizeof(answer), MSG_NOSIGNAL);
}

/* A busy host's program may be late: that is not the way's. */
static void late(void **state)
{
	struct talk t = aim(0);
	struct err e = {0};

	(void)state;
	t.bytes = 64 << 10;
	listener(&t, '\0', read_late);
	assert_int_equal(talk_run(&t, 1, 1, 3 * NS_PER_S, -1, &e), 0);
	assert_int_equal(t.state, TALK_DONE);
	assert_true(t.took_ns >= (LATE_MS - 100) * NS_PER_MS);
	assert_true(t.way_ns > 0 && t.way_ns < t.took_ns / 2);
}

/* One of the ports that the caller names, and none where all are taken. */
static void ports(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct err e = {0};
	struct talk_door *any = talk_open(NULL, secret, &e), *one;
	port_list l = {0};

	(void)state;
	*LIST_ADD(&a, &l) = talk_port(any);
	assert_null(talk_open(&l, secret, &e));
	talk_close(any);
	one = talk_open(&l, secret, &e);
	assert_non_null(one);
	assert_int_equal(talk_port(one), l.v[0]);
	talk_close(one);
	talk_close(NULL);
}

/* An event on the caller's descriptor ends it, and what was not known stays so. */
static void stopped(void **state)
{
	struct err e = {0};
	struct talk_door *d = talk_open(NULL, secret, &e);
	struct talk t = aim(talk_port(d));
	int p[2];

	(void)state;
	t.bytes = 0;
	t.for_ns = 60 * NS_PER_S;
	assert_int_equal(pipe(p), 0);
	assert_int_equal(write(p[1], "x", 1), 1);
	assert_int_equal(talk_run(&t, 1, 1, 60 * NS_PER_S, p[0], &e), 0);
	assert_int_equal(t.state, TALK_PENDING);
	(void)close(p[0]);
	(void)close(p[1]);
	talk_close(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many),
		cmocka_unit_test(for_a_while),
		cmocka_unit_test(strangers),
		cmocka_unit_test_teardown(stall, end_server),
		cmocka_unit_test_teardown(late, end_server),
		cmocka_unit_test(ports),
		cmocka_unit_test(stopped),
		cmocka_unit_test_teardown(other_words, end_server),
		cmocka_unit_test_teardown(no_end, end_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
