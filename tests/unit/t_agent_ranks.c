/* The ranks of an agent: what it hears of one that has ended, and of those that go on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/cluster/agent_ranks.h"
#include "lib/core/units.h"
#include "lib/core/wait.h"
#include "lib/net/peer_user.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>

enum { OTHERS = 8, TRIES = 10000, STEP_MS = 1 };
static const char as_rank[] = "--as-rank";

/* In a rank: the first one ends at once, the other talks until it is ended. */
static int be_rank(void)
{
	static const char much[64 << 10];

	if (streq(getenv("WINDSOCK_RANK"), "0"))
		return 0;
	while (write(STDOUT_FILENO, much, sizeof(much)) > 0)
		;
	return 1;
}

/* Files that are opened then have numbers that were its own. */
static void who_has_ended_is_told_nothing_of_its_numbers(void **state UNUSED)
{
	struct agent g = {.link.closed = true,
			  .orders = {.command = "t_agent_ranks",
				     .count = 2,
				     .size = 2,
				     .nodes = 1,
				     .port = 1,
				     .data_addr = "127.0.0.1",
				     .peer = "",
				     .run = ""}};
	struct io others[OTHERS] = {0};
	struct err e = {0};
	size_t watched;

	assert_int_equal(loop_init(&g.loop, &e), 0);
	*LIST_ADD(&g.a, &g.orders.args) = as_rank;
	assert_int_equal(ranks_start(&g, &e), 0);
	for (int i = 0; i < TRIES && g.running > 1; i++) {
		g.ranks[0].exit.ready(&g.loop, &g.ranks[0].exit, 0);
		(void)poll(NULL, 0, STEP_MS);
	}
	assert_int_equal(g.running, 1);
	for (size_t i = 0; i < OTHERS; i++) {
		others[i].fd = epoll_create1(EPOLL_CLOEXEC);
		assert_int_equal(loop_add(&g.loop, &others[i], EPOLLIN, &e), 0);
	}
	watched = g.loop.nio;
	for (int i = 0; i < TRIES && g.owed < AGENT_CREDIT; i++) {
		struct pollfd p = {.fd = g.ranks[1].out.fd, .events = POLLIN};

		(void)poll(&p, 1, STEP_MS);
		g.ranks[1].out.ready(&g.loop, &g.ranks[1].out, 0);
	}
	assert_true(g.owed >= AGENT_CREDIT);
	assert_int_equal(g.loop.nio, watched - 2); /* what the other one says, for now */
	ranks_done(&g);
	assert_int_equal(g.running, 0);
	assert_int_equal(g.loop.nio, OTHERS);
	for (size_t i = 0; i < OTHERS; i++)
		(void)close(others[i].fd);
	loop_done(&g.loop);
	arena_done(&g.a);
}

/* --- streams: who comes in from this host --------------------------------------------------- */

static void stop(struct loop *l, struct timer *t UNUSED) { loop_stop(l); }

static void who_says_nothing_makes_room_for_who_comes_later(void **state UNUSED)
{
	struct link closed = {.closed = true};
	struct loop loop;
	struct streams s = {.link = &closed, .loop = &loop};
	struct err e = {0};
	struct timer soon = {.fire = stop};
	int ends[3][2];
	char nothing;

	assert_int_equal(loop_init(&loop, &e), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends[i]), 0);
		assert_int_equal(stream_new(&s, ends[i][0], 0, &e), 0);
	}
	assert_int_equal(write(ends[0][1], "hello", 5), 5); /* the oldest is a rank */
	assert_int_equal(loop_arm(&loop, &soon, 10 * NS_PER_MS, &e), 0);
	assert_int_equal(loop_run(&loop, &e), 0);
	assert_true(streams_make_room(&s));
	assert_int_equal(s.n, 2);
	assert_int_equal(read(ends[1][1], &nothing, 1), 0); /* the end of the file */
	assert_int_equal(read(ends[2][1], &nothing, 1), -1);
	assert_true(streams_make_room(&s));
	assert_false(streams_make_room(&s));
	assert_int_equal(s.n, 1);
	streams_done(&s);
	loop_done(&loop);
	for (int i = 0; i < 3; i++)
		(void)close(ends[i][1]);
}

static int listen_here(union addr *ret)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof(*ret);

	*ret = (union addr){
		.v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
	assert_int_equal(bind(fd, &ret->sa, addr_len(ret)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, &ret->sa, &n), 0);
	return fd;
}

/* Who connects, as @user. */
static pid_t connect_as(uid_t user, const union addr *to)
{
	pid_t pid = fork();

	if (!pid) {
		bool failed = user != geteuid() && setuid(user);
		int fd = socket(AF_INET, SOCK_STREAM, 0); /* whose it is from now on */

		if (failed || connect(fd, &to->sa, addr_len(to)))
			_exit(1);
		for (;;)
			(void)pause();
	}
	assert_true(pid > 0);
	return pid;
}

static void whose_a_connection_is_the_kernel_knows(void **state UNUSED)
{
	enum { NOBODY = 65534 };
	const uid_t users[] = {geteuid(), NOBODY};
	union addr at;
	int door = listen_here(&at);
	bool can = true;

	for (size_t i = 0; i < (geteuid() ? 1 : ARRAY_LEN(users)) && can; i++) {
		pid_t pid = connect_as(users[i], &at);
		int fd = accept4(door, NULL, NULL, SOCK_CLOEXEC);
		uid_t user = 12345;

		can = peer_user(fd, &user); /* else some sandbox's kernel */
		(void)kill(pid, SIGKILL);
		(void)wait_child(pid);
		(void)close(fd);
		assert_true(!can || user == users[i]);
	}
	(void)close(door);
	if (!can)
		skip();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_says_nothing_makes_room_for_who_comes_later),
		cmocka_unit_test(whose_a_connection_is_the_kernel_knows),
		cmocka_unit_test(who_has_ended_is_told_nothing_of_its_numbers),
	};

	return argc > 1 && streq(argv[1], as_rank) ? be_rank()
						   : cmocka_run_group_tests(tests, NULL, NULL);
}
