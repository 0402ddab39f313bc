/* The plug-in gloo.so on 1 to 4 local ranks: every result verified, a dead and a
 * stopped rank noticed, an abort obeyed. Skipped where it was not built. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>

#include "bench/comm/backend.h"
#include "lib/core/units.h"
#include "tests/unit/comm_local.h"
#include "tests/unit/plugin_rows.h"

static const struct comm_plugin *plugin;

typedef const char *body(struct comm *c, struct dev *d, struct local *w);

static const char *connected(const struct comm_world *o, struct local *w, void *arg)
{
	struct err e = {0};
	int culprit = -2;
	struct dev *d = plugin->dev_new(o, &e);
	struct comm *c = d ? plugin->comm_new(o, d, &culprit, &e) : NULL;
	const char *wrong = c ? (*(body **)arg)(c, d, w) : "no communicator";

	if (wrong)
		fprintf(stderr, "rank %d of %d: %s %s\n", w->rank, w->size, wrong, e.msg);
	comm_free(c);
	return wrong;
}

static void on_ranks(int size, uint64_t deadline_ns, body *fn)
{
	on_local_ranks(size, deadline_ns, connected, &fn);
}

static const char *all_rows(struct comm *c, struct dev *d, struct local *w)
{
	struct rows r = {.comm = c, .dev = d, .thin = getenv("WINDSOCK_SOAK") ? 1 : 13};
	const char *wrong = rows_with_memory(&r);
	static char copy[320];

	if (!wrong && r.done < 70)
		wrong = "hardly anything was tried";
	if (wrong)
		(void)snprintf(copy, sizeof(copy), "%s", wrong);
	(void)w;
	return wrong ? copy : NULL;
}

static void results_are_right(void **state)
{
	(void)state;
	for (int ranks = 1; ranks <= 4; ranks++)
		on_ranks(ranks, 10 * NS_PER_S, all_rows);
}

/* Odd and even ranks apart, backwards; of those one is in no part of the part. */
static const char *in_parts(struct comm *c, struct dev *d, struct local *w)
{
	struct err e = {0};
	struct comm *half = NULL, *inner = NULL;
	const char *wrong;

	(void)w;
	for (int again = 0; again < 3; again++) {
		struct rows r = {.dev = d, .thin = 97};

		if (comm_split(c, c->rank % 2, -c->rank, &half, &e) ||
		    comm_split(half, half->rank ? 0 : COMM_NO_COLOUR, 0, &inner, &e))
			return "cannot be split";
		if (half->size != (c->size + !(c->rank % 2)) / 2 ||
		    comm_origin(half, half->rank) != c->rank || !inner != !half->rank)
			return "another size or rank";
		r.comm = half;
		wrong = rows_with_memory(&r);
		if (!wrong && inner)
			wrong = comm_barrier(inner, &e) ? "no barrier inside" : NULL;
		comm_free(inner);
		comm_free(half);
		if (wrong || comm_barrier(c, &e))
			return wrong ? "a wrong result" : "no barrier of all";
	}
	return NULL;
}

static void parts_work(void **state)
{
	(void)state;
	for (int ranks = 1; ranks <= 5; ranks += 2)
		on_ranks(ranks, 10 * NS_PER_S, in_parts);
}

enum { SMALL = 1000, LARGE = 5 * 1000 * 1000 / sizeof(float) };

static const char *reduce_some(struct comm *c)
{
	static float a[1000], b[1000];
	const struct comm_request q = {.kind = COLL_ALL_REDUCE,
				       .send = a,
				       .recv = b,
				       .count = ARRAY_LEN(a),
				       .type = DT_FLOAT,
				       .op = OP_SUM};
	struct err e = {0};

	for (int i = 0; i < 100; i++)
		if (comm_run(c, &q, &e))
			return "cannot even begin";
	return NULL;
}

static int reduce_for_ever(struct comm *c, size_t count, struct err *e)
{
	static float a[LARGE], b[LARGE];
	const struct comm_request q = {.kind = COLL_ALL_REDUCE,
				       .send = a,
				       .recv = b,
				       .count = count,
				       .type = DT_FLOAT,
				       .op = OP_SUM};

	while (!comm_run(c, &q, e))
		;
	return -1;
}

static const char *one_dies(struct comm *c, struct dev *d, struct local *w)
{
	struct err e = {0};
	bool gone = false;

	(void)d;
	if (w->rank == 1) {
		if (reduce_some(c))
			return "cannot even begin";
		(void)kill(getpid(), SIGKILL);
	}
	if (reduce_for_ever(c, SMALL, &e) && comm_culprit(c, &gone) != 1)
		return "blamed somebody else";
	return gone && strstr(e.msg, "rank 1 (here, 127.0.0.1)") ? NULL : "did not name it";
}

static void a_dead_rank_is_named(void **state)
{
	uint64_t start = now_ns();

	(void)state;
	on_ranks(2, 10 * NS_PER_S, one_dies);
	assert_true(now_ns() - start < 5 * NS_PER_S);
}

/* In the part it is rank 1; everybody knows it as rank 2. */
static const char *one_dies_in_a_part(struct comm *c, struct dev *d, struct local *w)
{
	struct err e = {0};
	struct comm *part;
	const char *wrong;
	char blob[3] = {0};

	(void)d;
	if (comm_split(c, c->rank % 2, 0, &part, &e))
		return "cannot be split";
	if (w->rank == 2) {
		(void)reduce_some(part);
		(void)kill(getpid(), SIGKILL);
	}
	if (w->rank == 1)
		return local_exchange(w, blob, 1, blob, &e) ? NULL : "nobody was lost";
	(void)reduce_for_ever(part, SMALL, &e);
	wrong = comm_culprit(part, NULL) != 2 ? "blamed somebody else" : NULL;
	if (!comm_barrier(c, &e) || comm_culprit(c, NULL) != 2)
		wrong = "all is well in the whole";
	if (!strstr(e.msg, "rank 2 (here, 127.0.0.1)"))
		wrong = "did not name it";
	comm_free(part);
	return wrong;
}

static void a_death_in_a_part_is_named(void **state)
{
	(void)state;
	on_ranks(3, 10 * NS_PER_S, one_dies_in_a_part);
}

static const char *one_stops(struct comm *c, struct dev *d, struct local *w)
{
	struct err e = {0};

	(void)d;
	if (reduce_some(c))
		return "cannot even begin";
	if (w->rank == 1) {
		(void)raise(SIGSTOP);
		return NULL;
	}
	(void)reduce_for_ever(c, LARGE, &e);
	/* 5 MB there and back at 10 MB/s, however many ranks there are */
	return strstr(e.msg, "all_reduce did not finish within 2.0 s") ? NULL : "no deadline";
}

static void a_stopped_rank_ends_the_wait(void **state)
{
	uint64_t start = now_ns(), took;

	(void)state;
	on_ranks(2, NS_PER_S, one_stops);
	took = now_ns() - start;
	assert_true(took > 2 * NS_PER_S && took < 20 * NS_PER_S); /* Gloo's own patience is 30 s */
}

static struct comm *to_abort;
static void on_alarm(int sig)
{
	(void)sig;
	comm_abort(to_abort, "enough");
}

static const char *one_aborts(struct comm *c, struct dev *d, struct local *w)
{
	struct err e = {0};
	const struct comm_request q = {.kind = COLL_BARRIER};

	(void)d;
	if (w->rank == 1) { /* does not take part, and so the other one waits */
		char blob[2] = {0};

		return local_exchange(w, blob, 1, blob, &e) ? "no word" : NULL;
	}
	to_abort = c;
	(void)signal(SIGALRM, on_alarm);
	(void)alarm(1);
	if (!comm_run(c, &q, &e) || !strstr(e.msg, "was aborted: enough"))
		return "was not aborted";
	return local_exchange(w, "x", 1, (char[2]){0}, &e) ? "no word" : NULL;
}

static void an_abort_is_obeyed(void **state)
{
	uint64_t start = now_ns();

	(void)state;
	on_ranks(2, 20 * NS_PER_S, one_aborts);
	assert_true(now_ns() - start < 5 * NS_PER_S);
}

static int load(void **state)
{
	static struct arena a;
	struct err e = {0};

	(void)state;
	plugin = backend_find("gloo", &a, &e);
	if (!plugin)
		print_message("# %s\n", e.msg);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_are_right),
		cmocka_unit_test(parts_work),
		cmocka_unit_test(a_dead_rank_is_named),
		cmocka_unit_test(a_death_in_a_part_is_named),
		cmocka_unit_test(a_stopped_rank_ends_the_wait),
		cmocka_unit_test(an_abort_is_obeyed),
	};

	(void)load(NULL);
	if (!plugin) {
		(void)puts("1..0 # SKIP gloo.so was not built");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
