/* The ranks of an agent: what it hears of one that has ended, and of those that go on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/cluster/agent_ranks.h"

#include <fcntl.h>
#include <poll.h>
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_ended_is_told_nothing_of_its_numbers),
	};

	return argc > 1 && streq(argv[1], as_rank) ? be_rank()
						   : cmocka_run_group_tests(tests, NULL, NULL);
}
