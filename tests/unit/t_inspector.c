/* What NCCL's Inspector recorded: the book that joins ranks, and what it has to say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/inspector/look.h"

#include <math.h>

/* --- a training that never was -------------------------------------------------------------- */

enum { RANKS = 4, HOSTS = 2, STEPS = 200 };
static const double US = 1000;

struct play {
	int late_rank, late_host; /* -1: nobody */
	int stops_rank, stops_at;
	double ago_us;	/* lines of who stops are so old that they need not be told of */
	double sinks;	/* by so much a step */
	int long_at;	/* -1: none; all ranks take long */
	int waits_at;	/* -1: none; the others wait for rank 0 */
	double step_us; /* of the clock */
	int steps;
	bool threads; /* all ranks in one process */
	const char *coll;
};
static const struct play healthy = {-1, -1, -1, 0, 0, 0, -1, -1, 1e6, STEPS, false, "AllReduce"};

static struct insp_text text(const char *s) { return (struct insp_text){s, strlen(s)}; }

static double took(const struct play *p, int step, int rank)
{
	double us = US * (1 + step * p->sinks + step * 7 % 5 * 0.01);
	bool late = rank == p->late_rank || rank / HOSTS == p->late_host;

	if (step == p->long_at)
		us *= 50;
	if (step == p->waits_at && rank)
		us += 30e6;
	if ((p->late_rank >= 0 || p->late_host >= 0) && !late)
		us += US;
	return us + (rank * 3 + step) % 4 * 10; /* who is last by a little changes */
}

static void play(const struct play *p, struct insp_book *b)
{
	static const char *const hosts[] = {"node0", "node1"};

	for (int rank = 0; rank < RANKS; rank++)
		for (int step = 0; step < p->steps; step++) {
			double us = took(p, step, rank);
			struct insp_record r = {.comm = text("0xa"),
						.host = text(hosts[p->threads ? 0 : rank / HOSTS]),
						.coll = text(p->coll),
						.rank = rank,
						.ranks = RANKS,
						.hosts = HOSTS,
						.pid = p->threads ? 1 : 100 + rank,
						.at_us = 1e15 + step * p->step_us,
						.sn = step,
						.bytes = 1 << 30,
						.us = us,
						.busbw = 1e6 / us};

			if (rank == p->stops_rank && step >= p->stops_at)
				continue;
			assert_true(insp_book_add(b, &r));
		}
	insp_book_close(b);
}

static void healthy_run(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct insp_book b = {.a = &a};
	struct insp_late late;
	insp_stalls stalls;
	insp_stops stops;
	insp_stats stats;

	(void)state;
	play(&healthy, &b);
	insp_look(&b, &a, &stats);
	assert_int_equal(stats.n, 1);
	assert_true(stats.v[0].whole && stats.v[0].n == STEPS && stats.v[0].g->n == STEPS * RANKS);
	assert_true(stats.v[0].median > 970 && stats.v[0].median < 1000);
	assert_true(stats.v[0].p10 <= stats.v[0].median && stats.v[0].median <= stats.v[0].p90);
	assert_true(stats.v[0].waited < 0.05 && !stats.v[0].sunk);
	insp_look_stalls(&b, &stats, &a, &stalls);
	insp_look_stops(&b, &a, &stops);
	insp_look_late(&b, &a, &late);
	assert_true(!stalls.n && !stops.n && late.known && !late.stands_out);
}

static struct insp_late late_of(struct play p, struct insp_book *b)
{
	struct insp_late l;

	play(&p, b);
	insp_look_late(b, b->a, &l);
	return l;
}

static void who_is_late(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct play p = healthy;
	struct insp_late l;

	(void)state;
	p.late_rank = 3;
	l = late_of(p, &(struct insp_book){.a = &a});
	assert_true(l.stands_out && !l.is_host && l.who == 3 && l.often > 0.9);
	p = healthy;
	p.late_host = 1;
	l = late_of(p, &(struct insp_book){.a = &a});
	assert_true(l.stands_out && l.is_host && l.who == 1 && l.share > 0.3);
	p = healthy; /* one wait of 30 s is more than all the rest, and no habit */
	p.waits_at = 100;
	l = late_of(p, &(struct insp_book){.a = &a});
	assert_true(l.known && !l.stands_out && l.waited > 0.9);
	p.steps = 10;
	assert_false(late_of(p, &(struct insp_book){.a = &a}).known);
}

/* Of two ranks that do not wait, and four of which three do: the time is all ranks', and where only
 * some entries are kept they stand for the others. */
static void waits_are_all_ranks(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct insp_late l;

	(void)state;
	for (size_t max = 0; max <= 400; max += 400) {
		struct insp_book b = {.a = &a, .max = max};

		for (int i = 0; i < 6 * 1000; i++) {
			bool pair = i % 6 < 2;
			struct insp_record r = {.comm = text(pair ? "0xa" : "0xb"),
						.host = text("h"),
						.coll = text("AllReduce"),
						.rank = pair ? i % 6 : i % 6 - 2,
						.ranks = pair ? 2 : 4,
						.hosts = 1,
						.pid = i % 6,
						.sn = i / 6,
						.us = i % 6 == 2 ? 100 : 1000,
						.busbw = 1};

			/* of the pair there are far fewer, and all of them stay */
			if (!pair || i / 6 % 10 == 0)
				assert_true(insp_book_add(&b, &r));
		}
		insp_book_close(&b);
		insp_look_late(&b, &a, &l);
		assert_true(l.known && fabs(l.waited - 2700.0 / (3100 + 200)) < 0.03);
	}
}

/* One process with a thread for each GPU: its ranks are told apart all the same. */
static void who_is_late_of_one_process(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct play p = healthy;
	struct insp_book b = {.a = &a};
	struct insp_late l;

	(void)state;
	p.late_rank = 3;
	p.threads = true;
	l = late_of(p, &b);
	assert_int_equal(b.processes.n, 1);
	assert_true(l.stands_out && l.is_member && b.members.v[l.who].rank == 3);
}

static insp_stops stops_of(struct play p, struct arena *a)
{
	struct insp_book *b = arena_alloc(a, sizeof(*b));
	insp_stops l;

	b->a = a;
	play(&p, b);
	insp_look_stops(b, a, &l);
	return l;
}

static void who_stops(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct play p = healthy;
	insp_stops l;

	(void)state;
	p.stops_rank = 2;
	p.stops_at = 120;
	l = stops_of(p, &a);
	assert_int_equal(l.n, 1);
	assert_true(l.v[0].sure && l.v[0].member == 2 && l.v[0].at == 119 && l.v[0].others == 199);
	assert_true(l.v[0].ago_s > 79 && l.v[0].ago_s < 81);
	assert_true(l.v[0].took_part); /* no all_reduce of the others ends without it */
	p.coll = "Broadcast";
	l = stops_of(p, &a);
	assert_true(l.n == 1 && l.v[0].sure && !l.v[0].took_part);
	p.coll = "AllReduce";
	p.stops_at = 198; /* as where a job ended and lost its last lines */
	l = stops_of(p, &a);
	assert_true(l.n == 1 && !l.v[0].sure);
	p.stops_at = 120;
	p.step_us = 1000; /* 80 ms are how a job ends, too */
	l = stops_of(p, &a);
	assert_true(l.n == 1 && !l.v[0].sure);
}

/* Nobody's sends can be held against another's; and any number of ranks against each other. */
static void who_stops_of_none_and_of_many(void **state)
{
	enum { MANY = 20000, LOST = 12345 };
	AUTO(arena_done) struct arena a = {0};
	struct insp_book b = {.a = &a};
	struct play p = healthy;
	insp_stops l;

	(void)state;
	p.coll = "Send";
	p.stops_rank = 2;
	play(&p, &b);
	assert_int_equal(insp_look_stops(&b, &a, &l), 0);
	assert_int_equal(l.n, 0);
	b = (struct insp_book){.a = &a};
	for (int rank = 0; rank < MANY; rank++)
		for (int step = 0; step < 3; step++)
			if (rank != LOST || !step)
				assert_true(insp_book_add(
					&b, &(struct insp_record){.comm = text("0xa"),
								  .host = text("h"),
								  .coll = text("AllGather"),
								  .rank = rank,
								  .ranks = MANY,
								  .hosts = 1,
								  .pid = rank,
								  .at_us = 1e15 + step * 60e6,
								  .sn = step,
								  .us = 5}));
	insp_book_close(&b);
	assert_int_equal(insp_look_stops(&b, &a, &l), MANY);
	assert_int_equal(l.n, 1);
	assert_int_equal(b.members.v[l.v[0].member].rank, LOST);
}

static void what_sank_and_stood_still(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct insp_book sunk = {.a = &a}, still = {.a = &a}, waited = {.a = &a};
	struct play p = healthy;
	insp_stalls stalls;
	insp_stats stats;

	(void)state;
	p.sinks = 0.002;
	play(&p, &sunk);
	insp_look(&sunk, &a, &stats);
	assert_true(stats.v[0].sunk && stats.v[0].last < stats.v[0].first * 0.8);
	p = healthy;
	p.long_at = 77;
	play(&p, &still);
	insp_look(&still, &a, &stats);
	insp_look_stalls(&still, &stats, &a, &stalls);
	assert_true(!stats.v[0].sunk && stalls.n == 1 && stalls.v[0].together);
	assert_true(stalls.v[0].op->sn == 77 && stalls.v[0].times > 40);
	p = healthy;
	p.waits_at = 77;
	play(&p, &waited);
	insp_look(&waited, &a, &stats);
	insp_look_stalls(&waited, &stats, &a, &stalls);
	assert_true(stalls.n == 1 && !stalls.v[0].together && stalls.v[0].us > 30e6);
	assert_int_equal(stalls.v[0].op->last, 0);
}

/* Fewer entries than collectives: those that are kept have all ranks, and what took long stays. */
static void too_many(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct insp_book b = {.a = &a, .max = 300};
	struct play p = healthy;
	struct insp_late l;
	insp_stalls stalls;
	insp_stats stats;

	(void)state;
	p.steps = 5000;
	p.long_at = 3001;
	p.late_rank = 1;
	play(&p, &b);
	assert_true(b.ops.n <= 300 && b.groups.v[0].every >= 16);
	for (size_t i = 0; i < b.ops.n; i++)
		assert_int_equal(b.ops.v[i].seen, RANKS);
	insp_look(&b, &a, &stats);
	assert_true(stats.v[0].g->n == 5000 * RANKS && stats.v[0].n > 60 && stats.v[0].whole);
	assert_true(stats.v[0].median > 950 && stats.v[0].median < 1000);
	insp_look_stalls(&b, &stats, &a, &stalls);
	assert_true(stalls.n == 1 && stalls.v[0].op->sn == 3001 && stalls.v[0].together);
	insp_look_late(&b, &a, &l);
	assert_true(l.stands_out && l.who == 1);
}

/* Every one of some sizes took long for somebody: what is kept for that leaves room for the others.
 */
static void too_many_that_took_long(void **state)
{
	enum { SIZES = 8, MAX = 600 };
	AUTO(arena_done) struct arena a = {0};
	struct insp_book b = {.a = &a, .max = MAX};

	(void)state;
	for (int i = 0; i < 200000; i++) {
		struct insp_record r = {.comm = text("0xa"),
					.host = text("h"),
					.coll = text("AllReduce"),
					.rank = i % 2,
					.ranks = 2,
					.hosts = 1,
					.pid = i % 2,
					.sn = i / 2,
					.bytes = 1 << (10 + i / 2 % SIZES),
					.us = i % 2 ? 1000 : 10,
					.busbw = 1};

		assert_true(insp_book_add(&b, &r));
	}
	insp_book_close(&b);
	for (size_t g = 0; g < b.groups.n; g++) {
		size_t chosen = 0;

		for (size_t i = b.groups.v[g].from; i < b.groups.v[g].to; i++)
			chosen += !b.ops.v[i].outlier;
		assert_in_range(chosen, MAX / SIZES / 8, MAX / SIZES * 2);
	}
}

/* Sizes as nccl-tests has them, communicators of one rank, times by the processor, sends. */
static void odds_and_ends(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct insp_book b = {.a = &a};
	struct insp_record r = {.comm = text("0xa"),
				.host = text("h"),
				.coll = text("AllGather"),
				.ranks = 4,
				.hosts = 1,
				.pid = 1,
				.bytes = 1 << 20,
				.us = 5,
				.busbw = 3,
				.name = text("unknown")};
	insp_stats stats;

	(void)state;
	assert_true(insp_book_add(&b, &r));
	r.coll = text("Send");
	for (r.rank = 0; r.rank < 2; r.rank++)
		assert_true(insp_book_add(&b, &r)); /* one number, two sends */
	r.timing = text("collective_cpu");
	assert_true(insp_book_add(&b, &r));
	r.timing = (struct insp_text){0};
	r.ranks = 1;
	r.rank = 0;
	r.name = text("DP \\\"0\\\"");
	assert_true(insp_book_add(&b, &r)); /* another communicator, by its size */
	insp_book_close(&b);
	assert_true(b.comms.n == 2 && !b.comms.v[0].name && streq(b.comms.v[1].name, "DP \"0\"") &&
		    b.by_cpu == 1 && b.lines == 5);
	insp_look(&b, &a, &stats);
	assert_int_equal(stats.n, 2);
	assert_true(stats.v[0].bytes == 4 << 20 && b.processes.n == 1 && stats.v[1].n == 2 &&
		    stats.v[1].g->n == 3);
	assert_false(stats.v[0].whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(healthy_run),
		cmocka_unit_test(who_is_late),
		cmocka_unit_test(who_is_late_of_one_process),
		cmocka_unit_test(who_stops),
		cmocka_unit_test(what_sank_and_stood_still),
		cmocka_unit_test(too_many),
		cmocka_unit_test(odds_and_ends),
		cmocka_unit_test(waits_are_all_ranks),
		cmocka_unit_test(who_stops_of_none_and_of_many),
		cmocka_unit_test(too_many_that_took_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
