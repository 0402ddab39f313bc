/* Parts of a communicator: who is in them, that they compute what a whole one would, in
 * any mixture with it, and that what goes wrong in one is known to all by its own name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/comm/tcp_core.h"
#include "tests/unit/plugin_rows.h"
#include "tests/unit/ranks.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>

static const char *sums_to(struct comm *c, int want)
{
	int own = comm_origin(c, c->rank), sum = -1;
	struct comm_request q = {
		.send = &own, .recv = &sum, .count = 1, .type = DT_INT32, .op = OP_SUM};
	struct err e = {0};

	if (comm_run(c, &q, &e))
		return "a sum failed";
	return sum == want ? NULL : "a wrong sum";
}

/* --- who is in it ---------------------------------------------------------------------- */

struct division {
	int parts; /* colours: rank % parts; the last of them is none */
	bool backwards;
};

/* What a rank can work out by itself about its part. */
static const char *check_part(struct comm *c, struct comm *part, const struct division *d)
{
	int colour = c->rank % d->parts, n = 0, sum = 0, own = -1;

	for (int i = 0; i < c->size; i++) {
		int r = d->backwards ? c->size - 1 - i : i;

		if (r % d->parts != colour)
			continue;
		if (n >= part->size || comm_origin(part, n) != r)
			return "another member";
		if (comm_peer(part, n)->pid != comm_peer(c, r)->pid)
			return "another process";
		own = r == c->rank ? n : own;
		sum += r;
		n++;
	}
	if (part->size != n || part->rank != own)
		return "another size or rank";
	return sums_to(part, sum);
}

static const char *divide(struct comm *c, struct local *w, void *arg)
{
	const struct division *d = arg;
	bool none = d->parts > 2 && c->rank % d->parts == d->parts - 1;
	struct err e = {0};
	struct comm *part;
	const char *wrong = NULL;

	(void)w;
	if (comm_split(c, none ? COMM_NO_COLOUR : c->rank % d->parts + 7,
		       d->backwards ? -c->rank : 0, &part, &e))
		return "cannot be split";
	if (none != !part)
		return "a part for whom it is not";
	for (int again = 0; again < 3 && !wrong; again++)
		wrong = part ? check_part(c, part, d) : NULL;
	comm_free(part);
	return wrong ? wrong : sums_to(c, c->size * (c->size - 1) / 2);
}

static void all_well(rank_fn *fn, void *arg, int size)
{
	struct ranks r = {.fn = fn, .arg = arg};

	assert_null(ranks_run(&r, size));
	for (int i = 1; i < size; i++)
		assert_int_equal(r.ended[i], 0);
}

static void everybody_is_where_he_belongs(void **state)
{
	(void)state;
	for (int size = 1; size <= 9; size++)
		for (int parts = 1; parts <= 4; parts++) {
			struct division d = {parts, (size + parts) % 2};

			all_well(divide, &d, size);
		}
}

/* --- what it computes -------------------------------------------------------------------- */

static const char *all_rows(struct comm *c, struct local *w, void *arg)
{
	struct rows r = {.dev = &dev_host, .thin = getenv("WINDSOCK_SOAK") ? 1 : 41};
	struct err e = {0};
	const char *wrong;
	static char copy[320];

	(void)w;
	if (comm_split(c, c->rank % *(int *)arg, -c->rank, &r.comm, &e))
		return "cannot be split";
	wrong = rows_with_memory(&r);
	if (!wrong && r.done < 30)
		wrong = "hardly anything was tried";
	comm_free(r.comm);
	if (wrong)
		(void)snprintf(copy, sizeof(copy), "%s", wrong);
	return wrong ? copy : NULL;
}

static void results_are_right(void **state)
{
	static const struct {
		int size, parts;
	} rows[] = {{2, 1}, {3, 2}, {5, 2}, {9, 3}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		all_well(all_rows, (void *)(uintptr_t)&rows[i].parts, rows[i].size);
}

/* --- parts of parts, and all of them in turn ------------------------------------------------ */

static size_t open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		(void)closedir(d);
	return n;
}

/* Ranks 0 2 4 6 and 1 3 5; of those 0 4, 2 6, 1 5 and 3 alone. */
static const char *nest(struct comm *c, struct local *w, void *arg)
{
	static const int halves[] = {12, 9}, quarters[] = {4, 8, 6, 3};
	struct comm *half, *quarter;
	struct err e = {0};
	size_t files = open_files();
	const char *wrong = NULL;

	(void)w;
	(void)arg;
	for (int again = 0; again < 20 && !wrong; again++) {
		if (comm_split(c, c->rank % 2, 0, &half, &e) ||
		    comm_split(half, half->rank % 2, 0, &quarter, &e))
			return "cannot be split";
		for (int i = 0; i < 5 && !wrong; i++) {
			wrong = sums_to(
				quarter,
				quarters[c->rank % 2 ? 2 + half->rank % 2 : half->rank % 2]);
			wrong = wrong ? wrong : sums_to(c, 21);
			wrong = wrong ? wrong : sums_to(half, halves[c->rank % 2]);
		}
		comm_free(quarter);
		comm_free(half);
	}
	return wrong || open_files() == files ? wrong : "open files are left";
}

static void parts_have_parts(void **state)
{
	(void)state;
	for (int again = 0; again < 2; again++) {
		struct ranks r = {.fn = nest, .sockets = again ? 1 : 3};

		assert_null(ranks_run(&r, 7));
		for (int i = 1; i < 7; i++)
			assert_int_equal(r.ended[i], 0);
	}
}

enum { COUNT = 1 << 18 }; /* floats */

/* Nothing is waited for until everything was started. */
static const char *interleave(struct comm *c, struct local *w, void *arg)
{
	static float a[COUNT], b[COUNT], d[COUNT];
	struct comm_request q = {.send = a, .recv = b, .count = COUNT, .type = DT_FLOAT};
	struct comm_request then = {.send = b, .recv = d, .count = COUNT, .type = DT_FLOAT};
	struct comm *part;
	struct err e = {0};
	bool finished = false;

	(void)w;
	(void)arg;
	for (size_t i = 0; i < COUNT; i++)
		a[i] = 1;
	if (comm_split(c, c->rank / 2, 0, &part, &e) || comm_start(c, &q, &e) ||
	    comm_start(part, &then, &e))
		return "cannot start";
	while (!finished)
		if (comm_test(part, &finished, &e))
			return "test failed";
	if (comm_test(c, &finished, &e) || !finished)
		return "the first is not finished";
	for (size_t i = 0; i < COUNT; i++)
		if (d[i] != (float)(c->size * part->size))
			return "a wrong sum";
	comm_free(part);
	return NULL;
}

static void requests_wait_for_each_other(void **state)
{
	(void)state;
	for (int again = 0; again < 3; again++)
		all_well(interleave, NULL, 5);
}

/* --- when something goes wrong --------------------------------------------------------------- */

struct fault {
	int who, signal, parts;
	size_t count;
	bool nested;
	uint64_t deadline_ns; /* 0: a second */
	bool away;	      /* ranks 2 and 4 are, when the others hear of it */
};

struct parts {
	struct comm *part, *inner; /* of which the last one works */
};

static struct comm *part_of(struct comm *c, const struct fault *f, struct parts *p, struct err *e)
{
	if (comm_split(c, c->rank % f->parts, -c->rank, &p->part, e))
		return NULL;
	if (f->nested && comm_split(p->part, 0, p->part->rank, &p->inner, e))
		return NULL;
	return f->nested ? p->inner : p->part;
}

static void free_parts(struct parts *p)
{
	comm_free(p->inner);
	comm_free(p->part);
}

/* A request that is asked for and then left alone; rank 0's is young at the deadline. */
static int come_late(struct comm *c, struct comm *part, const struct fault *f,
		     const struct comm_request *q, struct err *e)
{
	static const int percent[] = {[0] = 75, [2] = 140, [4] = 130, [5] = 0};
	int ms = (int)(f->deadline_ns / NS_PER_MS) * percent[c->rank] / 100;

	if (!c->rank)
		(void)poll(NULL, 0, ms);
	if (comm_start(part, q, e))
		return -1;
	if (c->rank)
		(void)poll(NULL, 0, ms);
	return comm_wait(part, e);
}

/* Until it fails; returns how long that took, from the fault on. */
static uint64_t work(struct comm *c, struct comm *part, const struct fault *f, struct err *e)
{
	static float a[COUNT], b[COUNT];
	struct comm_request q = {.send = a, .recv = b, .count = f->count, .type = DT_FLOAT};
	uint64_t start = now_ns();

	for (int i = 0; i < 1000000; i++) {
		if (c->rank == f->who && i == 20)
			(void)raise(f->signal);
		if (i < 20)
			start = now_ns();
		if (f->away && i == 20 ? come_late(c, part, f, &q, e) : comm_run(part, &q, e))
			break;
	}
	return now_ns() - start;
}

/* Every survivor, whichever part it is in, names the one, by the name that all know. */
static const char *until_fault(struct comm *c, struct local *w, void *arg)
{
	AUTO(free_parts) struct parts parts = {0};
	const struct fault *f = arg;
	struct comm_request q = {.kind = COLL_BARRIER};
	struct err e = {0}, again = {0};
	struct comm *part = part_of(c, f, &parts, &e);
	uint64_t took;
	bool gone;
	char name[32];

	(void)w;
	if (!part || comm_barrier(c, &e)) /* nobody dies while others are splitting */
		return "cannot be split";
	(void)snprintf(name, sizeof(name), "rank %d (here, 127.0.0.1", f->who);
	took = work(c, part, f, &e);
	if (f->away && !c->rank) /* others begin to wait later, and are waited for a second only */
		(void)poll(NULL, 0, 1500);
	if (!strstr(e.msg, name)) {
		fprintf(stderr, "rank %d: %s\n", c->rank, e.msg);
		return "not named";
	}
	if (comm_culprit(part, &gone) != f->who || comm_culprit(c, NULL) != f->who ||
	    gone != (f->signal == SIGKILL))
		return "somebody else is the culprit";
	if (took > (f->signal == SIGKILL ? 5 : 8) * local_slowness() * NS_PER_S)
		return "it took too long";
	if (!comm_run(c, &q, &again) || !streq(again.msg, e.msg))
		return "the whole went on after it";
	return NULL;
}

static void fault(struct fault f, int size)
{
	struct ranks r = {.fn = until_fault, .arg = &f};
	const char *wrong;

	r.deadline_ns = f.deadline_ns ? f.deadline_ns : local_slowness() * NS_PER_S;
	wrong = ranks_run(&r, size);
	if (wrong)
		fail_msg("%s", wrong);
	for (int i = 1; i < size; i++)
		if (i != f.who && r.ended[i])
			fail_msg("rank %d of %d ended with %d", i, size, r.ended[i]);
	assert_int_equal(r.ended[f.who], -SIGKILL);
}

static void a_death_in_a_part_is_known_to_all(void **state)
{
	(void)state;
	fault((struct fault){.who = 3, .signal = SIGKILL, .parts = 2, .count = 2}, 6);
	fault((struct fault){.who = 2, .signal = SIGKILL, .parts = 2, .count = COUNT}, 5);
	fault(
		(struct fault){
			.who = 5, .signal = SIGKILL, .parts = 3, .count = 1000, .nested = true},
		7);
}

static void a_stopped_rank_is_named_in_every_part(void **state)
{
	(void)state;
	fault((struct fault){.who = 1, .signal = SIGSTOP, .parts = 2, .count = 2}, 4);
	fault((struct fault){.who = 4, .signal = SIGSTOP, .parts = 2, .count = COUNT}, 6);
	fault(
		(struct fault){
			.who = 2, .signal = SIGSTOP, .parts = 3, .count = 1000, .nested = true},
		7);
}

/*
 * Ranks 2 and 4 wait for each other only because they were away, and hear first what
 * rank 0, of their part, says of a rank of another part: that is to be believed.
 */
static void a_stopped_rank_is_named_by_who_hears_late(void **state)
{
	(void)state;
	fault((struct fault){.who = 1,
			     .signal = SIGSTOP,
			     .parts = 2,
			     .count = 2,
			     .deadline_ns = 2 * NS_PER_S,
			     .away = true},
	      6);
}

/* Rank 0, of the other part, has heard that rank 3 is waited for; that waits for rank 1. */
static const char *be_blamed(struct comm *c, struct local *w, void *arg)
{
	AUTO(free_parts) struct parts parts = {0};
	struct comm_request q = {.kind = COLL_BARRIER};
	const struct fault f = {.parts = 2};
	struct err e = {0};
	struct comm *part = part_of(c, &f, &parts, &e);
	const int *over = arg; /* a sign each that the barrier is over */
	char sign;

	(void)w;
	if (!part || comm_barrier(c, &e))
		return "cannot be split";
	if (c->rank == 1)
		(void)raise(SIGSTOP);
	if (c->rank > 1 && write(over[1], "x", 1) != 1)
		return "no sign";
	for (int i = 0; c->rank == 0 && i < 2; i++)
		if (read(over[0], &sign, 1) != 1)
			return "no sign";
	if (c->rank == 0)
		tcp_tell_waited(CONTAINER_OF(c, struct tcp, comm), 3);
	if (c->rank == 3 && (!comm_run(part, &q, &e) || comm_culprit(c, NULL) != 1)) {
		fprintf(stderr, "rank 3: %s\n", e.msg);
		return "rank 1 is not named";
	}
	return NULL;
}

static void nobody_blames_himself(void **state)
{
	int over[2];
	struct ranks r = {.fn = be_blamed, .arg = over, .deadline_ns = 3 * NS_PER_S};
	const char *wrong;

	(void)state;
	assert_int_equal(pipe(over), 0);
	wrong = ranks_run(&r, 4);
	(void)close(over[0]);
	(void)close(over[1]);
	if (wrong)
		fail_msg("%s", wrong);
	assert_int_equal(r.ended[3], 0);
	assert_int_equal(r.ended[1], -SIGKILL); /* it was stopped all the time */
}

static const char *abort_one(struct comm *c, struct local *w, void *arg)
{
	struct comm_request q = {.kind = COLL_BARRIER};
	struct comm *part;
	struct err e = {0};

	(void)w;
	(void)arg;
	if (!comm_split(c, c->rank % 2, 0, &part, &e)) { /* one may hear of it in there */
		if (c->rank == 1)
			comm_abort(part, "the reactor is too hot");
		while (!comm_run(part, &q, &e))
			;
	}
	comm_free(part);
	if (!strstr(e.msg, "the reactor is too hot") || comm_culprit(c, NULL) != -1)
		return "another reason";
	return NULL;
}

static void an_abort_ends_all(void **state)
{
	(void)state;
	all_well(abort_one, NULL, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody_is_where_he_belongs),
		cmocka_unit_test(results_are_right),
		cmocka_unit_test(parts_have_parts),
		cmocka_unit_test(requests_wait_for_each_other),
		cmocka_unit_test(a_death_in_a_part_is_known_to_all),
		cmocka_unit_test(a_stopped_rank_is_named_in_every_part),
		cmocka_unit_test(a_stopped_rank_is_named_by_who_hears_late),
		cmocka_unit_test(nobody_blames_himself),
		cmocka_unit_test(an_abort_ends_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
