#ifndef TESTS_UNIT_RANKS_H
#define TESTS_UNIT_RANKS_H
/*
 * Runs a function on N connected ranks. Rank 0 is the test itself, the others
 * are forked; there nothing may be asserted: a rank returns what is wrong, or NULL.
 */
#include "bench/comm/tcp.h"
#include "lib/core/units.h"
#include "tests/unit/local.h"

typedef const char *rank_fn(struct comm *c, struct local *w, void *arg);

struct ranks {
	rank_fn *fn;
	void *arg;
	uint64_t deadline_ns;
	bool deadline_given;
	unsigned sockets;
	int (*exchange)(void *arg, const void *mine, size_t n, void *all, struct err *e);
	int ended[16]; /* by rank: exit code, or -signal */
};

static inline struct comm *ranks_connect(struct ranks *r, struct local *w, struct err *e)
{
	struct tcp_opts o = {.rank = w->rank,
			     .size = w->size,
			     .host = "here",
			     .sockets = r->sockets,
			     .deadline_ns = r->deadline_ns,
			     .deadline_given = r->deadline_given,
			     .stop_fds = {-1, -1},
			     .exchange = r->exchange ? r->exchange : local_exchange,
			     .arg = w};
	int culprit;

	if (addr_parse("127.0.0.1", &o.at))
		return NULL;
	return tcp_comm_new(&o, &culprit, e);
}

/* What rank 0 returned; the others' in r->ended. */
static inline const char *ranks_run(struct ranks *r, int size)
{
	struct err e = {0};
	struct local w;
	struct comm *c;
	const char *wrong;
	int status[16];

	if (!r->deadline_ns)
		r->deadline_ns = 20 * NS_PER_S;
	if (local_start(&w, size, r->deadline_ns, &e))
		return "cannot start ranks";
	c = ranks_connect(r, &w, &e);
	wrong = c ? r->fn(c, &w, r->arg) : "no communicator";
	if (wrong)
		fprintf(stderr, "rank %d of %d: %s %s\n", w.rank, size, wrong, e.msg);
	comm_free(c);
	if (w.rank)
		_exit(wrong != NULL);
	local_end(&w, status);
	for (int i = 1; i < size; i++)
		r->ended[i] = status[i];
	return wrong;
}

/* Where nobody may fail. */
static inline void ranks_all_well(struct ranks *r, int size)
{
	const char *wrong = ranks_run(r, size);

	if (wrong)
		fail_msg("%d ranks: %s", size, wrong);
	for (int i = 1; i < size; i++)
		if (r->ended[i])
			fail_msg("rank %d of %d ended with %d", i, size, r->ended[i]);
}

#endif
