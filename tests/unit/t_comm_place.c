/* Requests that need room of their own, and those that have none: in place, and without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/comm/tcp_core.h"
#include "tests/unit/ranks.h"

#include <stdlib.h>
#include <unistd.h>

/* --- memory that is not there -------------------------------------------------------------- */

static bool poor;

/* The C library's, but for who has none. */
void *aligned_alloc(size_t alignment, size_t n)
{
	void *p = NULL;

	return poor || posix_memalign(&p, alignment, n) ? NULL : p;
}

enum { COUNT = 1 << 20, POOR = 1 };

/* Who is not the root needs memory for the part that it reduces. */
static const char *without_memory(struct comm *c, struct local *w, void *arg)
{
	static float own[COUNT], sum[COUNT];
	struct comm_request q = {.kind = COLL_REDUCE,
				 .send = own,
				 .recv = c->rank ? NULL : sum,
				 .count = COUNT,
				 .type = DT_FLOAT,
				 .op = OP_SUM};
	const char *want = c->rank == POOR ? "no memory for partial results"
					   : "rank 1 gave up: no memory for partial results";
	struct err e = {0};

	(void)w;
	(void)arg;
	/* All have their communicator, and have left here, before one gives up. */
	if (comm_run(c, &(struct comm_request){.kind = COLL_BARRIER}, &e))
		return "no barrier";
	if (c->rank == POOR)
		(void)usleep(200000);
	poor = c->rank == POOR;
	if (!comm_run(c, &q, &e))
		return "a reduction without memory";
	if (!strstr(e.msg, want)) {
		fprintf(stderr, "rank %d: %s\n", c->rank, e.msg);
		return "another sentence";
	}
	poor = false;
	q = (struct comm_request){.kind = COLL_BARRIER};
	return comm_run(c, &q, &e) ? NULL : "it goes on as if nothing had been";
}

static void who_has_no_memory_says_so_to_all(void **state)
{
	struct ranks r = {.fn = without_memory};

	(void)state;
	ranks_all_well(&r, 3);
}

/* --- alltoallv in place ---------------------------------------------------------------------- */

enum { MOST = 3 << 18, RANKS = 4 }; /* 3 MiB: more than sockets hold */

/* As much there as back: more between ranks whose numbers are far apart. */
static size_t between(int a, int b) { return (size_t)MOST / 4 * (size_t)(1 + abs(a - b)); }

static unsigned char byte_of(int from, int to, size_t i)
{
	return (unsigned char)(from * 31 + to * 7 + (int)(i / 4096));
}

/* A network that is slow on one of several ways would show it, this machine's hardly does. */
static bool all_hold(const struct comm *c)
{
	const struct tcp *t = CONTAINER_OF(c, struct tcp, comm);
	bool all = true;

	for (size_t i = 0; i < t->steps.n; i++)
		all &= t->steps.v[i].kind != STEP_STORE || t->steps.v[i].hold_lane != NO_HOLD;
	return all;
}

static const char *exchanges_in_place(struct comm *c, struct local *w, void *arg)
{
	size_t counts[RANKS], all = 0, at = 0;
	struct comm_request q = {.kind = COLL_ALLTOALLV, .type = DT_UINT8};
	struct err e = {0};
	unsigned char *v;

	(void)w;
	(void)arg;
	for (int p = 0; p < c->size; p++)
		all += counts[p] = between(c->rank, p);
	v = malloc(all);
	for (int p = 0; p < c->size; at += counts[p++])
		for (size_t i = 0; i < counts[p]; i++)
			v[at + i] = byte_of(c->rank, p, i);
	q.send = q.recv = v;
	q.send_counts = q.recv_counts = counts;
	if (comm_run(c, &q, &e))
		return "it failed";
	if (!all_hold(c))
		return "what comes does not wait until what is there is gone";
	at = 0;
	for (int p = 0; p < c->size; at += counts[p++])
		for (size_t i = 0; i < counts[p]; i++)
			if (v[at + i] != byte_of(p, c->rank, i))
				return "another rank's bytes, or its own";
	free(v);
	return NULL;
}

static void what_comes_waits_for_what_goes(void **state)
{
	struct ranks r = {.fn = exchanges_in_place};

	(void)state;
	for (int size = 1; size <= RANKS; size++)
		ranks_all_well(&r, size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_no_memory_says_so_to_all),
		cmocka_unit_test(what_comes_waits_for_what_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
