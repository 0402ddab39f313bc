#ifndef TESTS_UNIT_COMM_LOCAL_H
#define TESTS_UNIT_COMM_LOCAL_H
/*
 * A body run by every rank of a local world (local.h) that communicators can be made
 * of: what it says in rank 0, and how each other rank ended, is what is asserted.
 */
#include "bench/comm/comm.h"
#include "tests/unit/local.h"

/* NULL, or what is wrong. */
typedef const char *on_rank(const struct comm_world *o, struct local *w, void *arg);

/* A rank may end well or be killed (-SIGKILL): bodies do that to themselves. */
static inline void on_local_ranks(int size, uint64_t deadline_ns, on_rank *fn, void *arg)
{
	struct err e = {0};
	struct local w;
	struct comm_world o = {.size = size,
			       .local_size = size,
			       .host = "here",
			       .deadline_ns = deadline_ns,
			       .stop_fds = {-1, -1},
			       .exchange = local_exchange,
			       .arg = &w};
	const char *wrong;
	int status[16];

	assert_int_equal(addr_parse("127.0.0.1", &o.at), 0);
	assert_int_equal(local_start(&w, size, 20 * NS_PER_S, &e), 0);
	o.rank = o.local_rank = w.rank;
	wrong = fn(&o, &w, arg);
	if (w.rank)
		_exit(wrong != NULL);
	local_end(&w, status);
	if (wrong)
		fail_msg("%d ranks: %s", size, wrong);
	for (int i = 1; i < size; i++)
		if (status[i] && status[i] != -SIGKILL)
			fail_msg("rank %d of %d ended with %d", i, size, status[i]);
}

#endif
