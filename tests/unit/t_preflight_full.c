/* What --full decides from numbers: how far a sweep goes, whose pace is odd, what a
 * stage's part of a budget is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "lib/core/units.h"
#include "lib/report/json.h"
#include "probes/preflight/preflight.h"

#include <cmocka.h>

#include "tests/unit/in_range.h"
#include "tests/unit/report_file.h"

struct world {
	char out[64]; /* thrown away */
	struct arena a;
	struct preflight p;
};

static void world_init(struct world *w)
{
	*w = (struct world){.p = {.tier = TIER_FULL, .deadline_ns = 10 * NS_PER_S, .width = 4}};
	w->p.a = w->p.t.a = &w->a;
	w->p.r = w->p.t.r = report_file_new(w->out, "windsock", "json");
}

static void world_done(struct world *w)
{
	(void)report_file_done(w->p.r, w->out);
	arena_done(&w->a);
}

static cJSON *parse(const char *text)
{
	struct err e = {0};
	cJSON *o = json_parse(text, strlen(text), 16, &e);

	assert_non_null(o);
	return o;
}

static bool asks(const char *const *args, const char *what)
{
	for (; *args; args++)
		if (starts_with(*args, what))
			return true;
	return false;
}

/* How far it goes is for the time to say alone, whatever was measured before. */
static void t_sweep_fits(void **state)
{
	struct world w;
	cJSON *data;

	(void)state;
	world_init(&w);
	data = parse("{\"results\":[{\"size\":1048576,\"time_us\":1000000},{\"size\":8,\"time_us\":"
		     "0.001},"
		     "{\"size\":524288,\"time_us\":0.001},{\"size\":\"x\"},7]}");
	preflight_take_curve(&w.p, data);
	cJSON_Delete(data);
	assert_int_equal(w.p.curve.n, 3);
	assert_true(w.p.curve.v[0].bytes == 8 && w.p.curve.v[2].bytes == 1048576);
	preflight_size_up(&w.p, S_SWEEP);
	assert_true(asks(preflight_args(&w.p, S_SWEEP, "a,b"), "--maxbytes=1G"));
	assert_true(asks(preflight_args(&w.p, S_SWEEP, "a,b"), "--within="));
	assert_true(asks(preflight_args(&w.p, S_COLLECTIVES, "a,b"), "--maxbytes=4M"));
	world_done(&w);
}

/* @rates of one rank per host h0, h1 ...; computing took each of them @seconds. */
static cJSON *run_of(struct arena *a, const double *rates, size_t n, double seconds)
{
	cJSON *data = cJSON_CreateObject(), *t = json_object(data, "throughput");
	cJSON *names = json_array(json_object(data, "world"), "ranks"),
	      *ranks = json_array(t, "ranks");

	for (size_t i = 0; i < n; i++) {
		cJSON *rank = json_push_object(ranks);

		json_str(json_push_object(names), "host", arena_printf(a, "h%zu", i));
		json_num(rank, "compute_samples_per_s", rates[i]);
		json_num(json_object(rank, "seconds"), "forward", seconds);
	}
	json_num(t, "samples_per_s", 100);
	json_num(t, "alone_samples_per_s", 1000);
	json_num(json_object(data, "model"), "batch", 32);
	return data;
}

static const struct finding *train_node(const struct preflight *p)
{
	for (size_t i = 0; i < p->t.items.n; i++)
		if (streq(p->t.items.v[i].f->check, "train.node"))
			return p->t.items.v[i].f;
	return NULL;
}

static void t_odd_node(void **state)
{
	static const struct {
		double rates[5];
		size_t n;
		double seconds;
		bool one_machine, again;
		enum status want;
		const char *subject;
	} rows[] = {
		{{100, 100, 30, 110}, 4, 1, false, true, ST_FAIL, "h2"},
		{{100, 100, 30, 110}, 4, 1, true, true, ST_WARN, "h2"},
		{{100, 100, 30, 110}, 4, 1, false, false, ST_INFO, "h2"},
		{{100, 100, 30, 110}, 4, 0.01, false, true, ST_PASS, NULL}, /* too short to tell */
		{{100, 80, 60, 110}, 4, 1, false, true, ST_PASS, NULL},
		{{100, 30}, 2, 1, false, true, ST_WARN, "h1"}, /* of two nobody is the majority */
		{{30, 30, 30, 100}, 4, 1, false, true, ST_PASS, NULL}, /* one is faster */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		static const double even[5] = {100, 100, 100, 100, 100};
		const struct finding *f;
		cJSON *data, *again;
		struct world w;

		world_init(&w);
		w.p.one_machine = rows[i].one_machine;
		data = run_of(&w.a, rows[i].rates, rows[i].n, rows[i].seconds);
		again = run_of(&w.a, rows[i].again ? rows[i].rates : even, rows[i].n,
			       rows[i].seconds);
		assert_int_equal(preflight_is_uneven(&w.p, data), rows[i].subject != NULL);
		preflight_judge_training(&w.p, data, again);
		f = train_node(&w.p);
		assert_non_null(f);
		assert_int_equal(f->status, rows[i].want);
		assert_int_equal(f->subject != NULL, rows[i].subject != NULL);
		if (rows[i].subject)
			assert_string_equal(f->subject, rows[i].subject);
		assert_true(f->status == ST_INFO || f->status == ST_PASS || f->fix.n);
		cJSON_Delete(data);
		cJSON_Delete(again);
		world_done(&w);
	}
}

static void t_judges_nothing_of_nothing(void **state)
{
	static const char *const junk[] = {
		"{}", "[]", "7", "{\"world\":{\"ranks\":[{}]},\"throughput\":{\"ranks\":[7,{}]}}",
		("{\"world\":{\"ranks\":[{\"host\":\"a\"}]},\"throughput\":{\"ranks\":[{"
		 "\"compute_samples_per_s\":-1}]}}")};
	struct world w;

	(void)state;
	world_init(&w);
	for (size_t i = 0; i < ARRAY_LEN(junk); i++) {
		cJSON *data = parse(junk[i]);

		assert_false(preflight_is_uneven(&w.p, data));
		preflight_judge_training(&w.p, data, NULL);
		preflight_take_curve(&w.p, data);
		cJSON_Delete(data);
	}
	assert_int_equal(w.p.t.items.n, 0);
	assert_int_equal(w.p.curve.n, 0);
	world_done(&w);
}

static void t_part_of_a_budget(void **state)
{
	const uint64_t left = 60 * NS_PER_S;
	struct world w;

	(void)state;
	world_init(&w);
	assert_int_equal(preflight_cap(&w.p, S_SWEEP), 180 * NS_PER_S); /* no budget: patience */
	w.p.until_ns = now_ns() + left;
	/* 4 of the 6 parts that the sweep and what follows it have */
	assert_uint_in_range(preflight_cap(&w.p, S_SWEEP), 30 * NS_PER_S, 40 * NS_PER_S);
	assert_uint_in_range(preflight_cap(&w.p, S_EXPECT), 50 * NS_PER_S, left);
	/* 4 of the 14 that all of --full has */
	assert_uint_in_range(preflight_cap(&w.p, S_PAIRS), 12 * NS_PER_S, 18 * NS_PER_S);
	assert_uint_in_range(preflight_cap(&w.p, S_REACH), 50 * NS_PER_S,
			     left); /* needs what it needs */
	w.p.width = 512; /* each host has a round of its own: never less than that takes */
	assert_uint_in_range(preflight_cap(&w.p, S_PAIRS), 50 * NS_PER_S, left);
	assert_false(preflight_gate(&w.p, S_PAIRS));
	assert_non_null(strstr(w.p.t.items.v[0].f->message, "left out: it takes about 4"));
	world_done(&w);
}

/* Eight GPUs of a host want their time, too, but what comes behind the hosts is not for them. */
static void t_a_burst_on_each_host(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	w.p.tier = TIER_QUICK;
	assert_int_equal(preflight_host_cap(&w.p), 20 * NS_PER_S);
	assert_int_equal(preflight_patience(&w.p, S_HOSTS), 30 * NS_PER_S);
	w.p.burst = true;
	assert_int_equal(preflight_host_cap(&w.p), 82 * NS_PER_S);
	assert_int_equal(preflight_patience(&w.p, S_HOSTS), 92 * NS_PER_S);
	w.p.tier = TIER_DEFAULT; /* training and collectives want eight seconds at the least */
	w.p.until_ns = now_ns() + 60 * NS_PER_S;
	assert_uint_in_range(preflight_host_cap(&w.p), 50 * NS_PER_S, 52 * NS_PER_S);
	w.p.until_ns = now_ns() + 24 * NS_PER_S;
	assert_uint_in_range(preflight_host_cap(&w.p), 19 * NS_PER_S, 20 * NS_PER_S);
	w.p.until_ns = now_ns() + 3 * NS_PER_S;
	assert_uint_in_range(preflight_host_cap(&w.p), 2 * NS_PER_S, 3 * NS_PER_S);
	world_done(&w);
}

/* One that hangs must be named within the stage's share, one that is kept waiting not accused. */
/* Nothing of the tier comes after it: it is its own share. */
static void t_a_stage_of_a_higher_tier(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	w.p.tier = TIER_QUICK;
	w.p.until_ns = now_ns() + 20 * NS_PER_S;
	assert_uint_in_range(preflight_cap(&w.p, S_SWEEP), 12 * NS_PER_S, 20 * NS_PER_S);
	world_done(&w);
}

static void t_silence_within_a_share(void **state)
{
	(void)state;
	assert_int_equal(preflight_heartbeat(2 * NS_PER_S), 4 * NS_PER_S);
	assert_int_equal(preflight_heartbeat(12 * NS_PER_S), 6 * NS_PER_S);
	assert_int_equal(preflight_heartbeat(20 * NS_PER_S), 0);
	assert_int_equal(preflight_heartbeat(UINT64_MAX), 0);
}

/* Cut short with nothing to show: before it had the time it takes, and after. */
static void t_may_hang(void **state)
{
	struct part got = {.cut = true, .took_ns = 7900 * NS_PER_MS};
	struct world w;

	(void)state;
	world_init(&w);
	w.p.width = 4;
	preflight_say_cut(&w.p, S_PAIRS, &got);
	assert_int_equal(w.p.t.items.v[0].f->status, ST_SKIP);
	assert_false(w.p.run[S_PAIRS].may_hang);
	got.took_ns = 8 * NS_PER_S; /* four of them are for all at once */
	w.p.run[S_PAIRS].from = w.p.t.items.n;
	preflight_say_cut(&w.p, S_PAIRS, &got);
	assert_int_equal(w.p.t.items.v[1].f->status, ST_WARN);
	assert_true(w.p.run[S_PAIRS].may_hang && w.p.run[S_PAIRS].came_to_nothing);
	w.p.run[S_PORTS].from = w.p.t.items.n; /* of one host alone: nobody else hangs */
	preflight_say_cut(&w.p, S_PORTS, &got);
	assert_int_equal(w.p.t.items.v[2].f->status, ST_SKIP);
	world_done(&w);
}

/* What the stages before took says how busy the hosts are. */
static void t_pace_of_a_run(void **state)
{
	struct stage_run took = {.done = true, .status = ST_PASS};
	struct world w;

	(void)state;
	world_init(&w);
	w.p.budget_ns = 34 * NS_PER_S;
	w.p.until_ns = now_ns() + 33 * NS_PER_S;
	w.p.width = 4;
	w.p.given = "lab";
	/* by weight 14 of 33 s, but for what those after them must have */
	assert_uint_in_range(preflight_cap(&w.p, S_COLLECTIVES), 2 * NS_PER_S, 2 * NS_PER_S);
	w.p.run[S_REACH] = took;
	w.p.run[S_REACH].seconds = 0.3; /* quicker than estimated: so will they be */
	assert_uint_in_range(preflight_cap(&w.p, S_COLLECTIVES), 10 * NS_PER_S, 15 * NS_PER_S);
	w.p.run[S_REACH].seconds = 3 * 1.16; /* three times as long */
	w.p.until_ns = now_ns() + 14 * NS_PER_S;
	assert_uint_in_range(preflight_cap(&w.p, S_COLLECTIVES), 6 * NS_PER_S - 1000,
			     6 * NS_PER_S + 1000);
	assert_false(preflight_gate(&w.p, S_SWEEP));
	assert_string_equal(w.p.t.items.v[0].f->message,
			    "left out: it takes about 15 s here (what ran before took 3 times as "
			    "long as estimated), more than the budget has left");
	assert_string_equal(w.p.t.items.v[0].f->fix.v[0], /* with what all takes at that pace */
			    "windsock --full --hosts lab --budget 3m   # or without a budget");
	w.p.run[S_REACH].status = ST_FAIL; /* it waited for what is not there */
	assert_true(preflight_gate(&w.p, S_SWEEP));
	assert_string_equal(preflight_unfinished(&w.p) ?: "none", "none");
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_sweep_fits),
		cmocka_unit_test(t_odd_node),
		cmocka_unit_test(t_judges_nothing_of_nothing),
		cmocka_unit_test(t_part_of_a_budget),
		cmocka_unit_test(t_a_burst_on_each_host),
		cmocka_unit_test(t_pace_of_a_run),
		cmocka_unit_test(t_a_stage_of_a_higher_tier),
		cmocka_unit_test(t_silence_within_a_share),
		cmocka_unit_test(t_may_hang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
