/*
 * What train.pace says of who computes how long: a rank, a host with all its ranks, most of all,
 * one that stood still once, or nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/train/say_run.h"
#include "lib/report/json.h"

enum { RANKS = 4, STEPS = 100 };

struct row {
	const char *what;
	double compute_s[RANKS], longest_s[RANKS];
	int per_host;
	const char *status, *subject, *host, *says;
};

static struct who world(const struct row *row, struct who_peer *peers)
{
	static const char *const hosts[RANKS] = {"node0", "node1", "node2", "node3"};

	for (int i = 0; i < RANKS; i++)
		peers[i] = (struct who_peer){.host = hosts[i / row->per_host],
					     .at = hosts[i / row->per_host],
					     .address = "10.0.0.1"};
	return (struct who){
		.size = RANKS, .hosts = RANKS / row->per_host, .backend = "tcp", .peers = peers};
}

/* Each rank trains for the same time: who is quick waits in the exchange. */
static struct train_result result(const struct row *row, const double *robbed_s,
				  struct train_total *totals, struct train_word *words)
{
	struct train_result res = {.totals = totals, .history = HISTORY_EMPTY};

	for (int i = 0; i < RANKS; i++) {
		totals[i] = (struct train_total){.samples = 1000,
						 .steps = STEPS,
						 .longest_s = row->longest_s[i],
						 .longest_step = 34,
						 .robbed_s = robbed_s ? robbed_s[i] : 0};
		totals[i].seconds[PHASE_BACKWARD] = row->compute_s[i];
		totals[i].seconds[PHASE_EXCHANGE] = 10 - row->compute_s[i];
		words[i] = (struct train_word){.processors = 8};
	}
	res.history.last.words = words;
	return res;
}

static void judge(const struct row *row, const double *robbed_s /* NULL: nobody was */)
{
	const struct model m = {.name = "cnn"};
	const struct train_opts o = {.model = &m};
	struct who_peer peers[RANKS];
	struct train_total totals[RANKS];
	struct train_word words[RANKS];
	struct who w = world(row, peers);
	struct train_result res = result(row, robbed_s, totals, words);
	struct err e = {0};
	struct report *r = report_new(
		&(struct report_opts){.command = "ddpsmoke", .host = "node0", .quiet = true}, &e);
	cJSON *all;
	const cJSON *f;

	assert_non_null(r);
	say_pace(&(const struct run){.r = r, .o = &o, .w = &w, .res = &res});
	all = report_envelope(r);
	f = json_get(all, "findings")->child;
	if (!streq(json_text(f, "status"), row->status) ||
	    !streq(json_text(f, "subject"), row->subject) ||
	    !streq(json_text(f, "host"), row->host) || !strstr(json_text(f, "message"), row->says))
		fail_msg("%s: %s", row->what, cJSON_PrintUnformatted(f));
	cJSON_Delete(all);
	(void)report_end(r, &e);
}

/* Of 87 kB of gradients, over so many hosts; @wait_s: in each of 100 steps. */
struct beside {
	double robbed_s, slow_s; /* of rank 1 in each step, and of rank 2 in all of them */
	int mpi_has;		 /* an MPI carries, and each rank may use so many processors ... */
	bool in_containers;	 /* ... the same ones: the hosts are of one machine */
};
static bool is_held_up_beside(struct beside others, int per_host, double wait_s, double alone,
			      const char **ret_fix)
{
	const struct row row = {.what = "crawl", .per_host = per_host};
	const struct model m = {.name = "cnn"};
	const struct train_opts o = {.model = &m};
	const struct train_alone a = {.samples_per_s = alone};
	static char fix[512];
	struct who_peer peers[RANKS];
	struct train_total totals[RANKS];
	struct train_word words[RANKS];
	struct who w = world(&row, peers);
	struct train_result res = result(&row, NULL, totals, words);
	struct err e = {0};
	struct report *r = report_new(
		&(struct report_opts){.command = "ddpsmoke", .host = "node0", .quiet = true}, &e);
	const cJSON *f;
	cJSON *all;
	bool warned;

	assert_non_null(r);
	res.nparams = 21840;
	w.backend = others.mpi_has ? "mpi" : w.backend;
	for (int i = 0; i < RANKS; i++) {
		totals[i].seconds[PHASE_BACKWARD] = 1000 / alone;
		totals[i].seconds[PHASE_EXCHANGE] = wait_s * STEPS + i; /* others wait longer */
		totals[i].robbed_s = i == 1 ? others.robbed_s * STEPS : 0;
		totals[i].seconds[PHASE_FORWARD] = i == 2 ? others.slow_s : 0;
		words[i].processors = others.mpi_has ? others.mpi_has : words[i].processors;
		words[i].first_processor = others.mpi_has == 1 ? i % per_host : 0;
		words[i].machine = others.in_containers ? 0 : i / per_host;
	}
	say_pace(&(const struct run){.r = r, .o = &o, .w = &w, .res = &res, .alone = &a});
	warned = report_count(r, ST_WARN);
	all = report_envelope(r);
	f = json_get(all, "findings")->child;
	if (warned)
		(void)snprintf(fix, sizeof(fix), "%s",
			       cJSON_GetStringValue(json_get(f, "fix")->child));
	if (warned && others.slow_s > 0)
		(void)snprintf(fix, sizeof(fix), "%s", json_text(f, "message"));
	*ret_fix = fix;
	cJSON_Delete(all);
	(void)report_end(r, &e);
	return warned;
}

static bool is_held_up(int per_host, double wait_s, double alone, const char **ret_fix)
{
	return is_held_up_beside((struct beside){0}, per_host, wait_s, alone, ret_fix);
}

static void who_crawls_is_told_from_who_has_little_to_do(void **state)
{
	const char *fix;

	(void)state;
	assert_true(is_held_up(1, 0.2, 20000, &fix));
	assert_string_equal(fix, "ncclbench --hosts node0,node1,node2,node3 --find-slow");
	assert_true(is_held_up(2, 0.2, 20000, &fix));
	assert_string_equal(fix, "ncclbench --hosts node0,node1 --find-slow");
	assert_false(is_held_up(4, 0.2, 20000, &fix)); /* no network */
	/* a tiny step on a link of 100 Mb/s, or far away: little of the time, and yet healthy */
	assert_false(is_held_up(1, 0.016, 100000, &fix));
	assert_false(is_held_up(1, 0.2, 500, &fix)); /* it computes, too */
	/* they wait for one whose processor others have */
	assert_false(is_held_up_beside((struct beside){.robbed_s = 0.18}, 1, 0.2, 20000, &fix));
	assert_true(is_held_up_beside((struct beside){.robbed_s = 0.05}, 1, 0.2, 20000, &fix));
}

/* An MPI waits busily: of ranks that share a processor none can be told from the network. */
static void who_spins_on_a_processor_of_its_own_is_held_up(void **state)
{
	const char *fix;

	(void)state;
	/* mpirun binds each rank to a core of its machine */
	assert_true(is_held_up_beside((struct beside){.mpi_has = 1}, 1, 0.2, 20000, &fix));
	assert_true(is_held_up_beside((struct beside){.mpi_has = 1}, 2, 0.2, 20000, &fix));
	/* more ranks in all than processors on a machine, which has enough for its own */
	assert_true(is_held_up_beside((struct beside){.mpi_has = 2}, 2, 0.2, 20000, &fix));
	assert_false(is_held_up_beside((struct beside){.mpi_has = 2, .in_containers = true}, 1, 0.2,
				       20000, &fix));
	assert_true(is_held_up_beside((struct beside){.mpi_has = 4, .in_containers = true}, 1, 0.2,
				      20000, &fix));
}

static void what_costs_most_comes_first(void **state)
{
	const char *says;

	(void)state;
	/* 20 s of the network's */
	assert_true(is_held_up_beside((struct beside){.slow_s = 1}, 1, 0.2, 20000, &says));
	assert_non_null(strstr(says, "the network holds the training up"));
	assert_non_null(strstr(
		says, "; besides, rank 2 (node2, 10.0.0.1) computes slower than the others"));
	assert_true(is_held_up_beside((struct beside){.slow_s = 30}, 1, 0.2, 20000, &says));
	assert_non_null(strstr(says, "rank 2 (node2, 10.0.0.1) is "));
}

static void who_was_robbed_of_its_processor_is_not_slow(void **state)
{
	static const struct row slow = {
		"slow", {1, 1, 2, 1}, {.1, .1, .1, .1}, 1,
		"warn", "rank 2",     "node2",		"2.0x slower than the others: compute"};
	static const struct row robbed = {"robbed",
					  {1, 1, 2, 1},
					  {.1, .1, .1, .1},
					  1,
					  "info",
					  "cnn",
					  "node0",
					  "2.0x slower than the others (not judged: others had its "
					  "processor for 4 s of 10 s)"};

	(void)state;
	judge(&robbed, (const double[RANKS]){0, 0, 4, 0}); /* of 10 s; it computed for 2 */
	judge(&slow, (const double[RANKS]){0, 0, 1, 0});
	judge(&slow, (const double[RANKS]){4, 4, 4, 4}); /* as all others */
}

static void who_is_slow(void **state)
{
	static const struct row rows[] = {
		{"alike", {1, 1.1, 1, 1.2}, {.1, .1, .1, .1}, 2, "info", "cnn", "node0", "4 ranks"},
		{"one",
		 {1, 1, 2, 1},
		 {.1, .1, .1, .1},
		 1,
		 "warn",
		 "rank 2",
		 "node2",
		 "rank 2 (node2, 10.0.0.1) is 2.0x slower than the others: compute"},
		{"a host",
		 {1, 1, 2, 1.9},
		 {.1, .1, .1, .1},
		 2,
		 "warn",
		 "node1",
		 "node1",
		 "all 2 ranks of node1 are up to 2.0x slower than the others: compute"},
		{"of two hosts",
		 {1, 2, 1.9, 1},
		 {.1, .1, .1, .1},
		 2,
		 "warn",
		 "rank 1",
		 "node0",
		 "rank 1 (node0, 10.0.0.1) and 1 more are up to 2.0x slower than the others"},
		{"most",
		 {1, 2, 1.9, 2.2},
		 {.1, .1, .1, .1},
		 2,
		 "warn",
		 "rank 3",
		 "node1",
		 "rank 3 (node1, 10.0.0.1) and 2 more are up to 2.2x slower than the others"},
		{"all of one host",
		 {1, 1, 1, 2},
		 {.1, .1, .1, .1},
		 4,
		 "warn",
		 "rank 3",
		 "node0",
		 "rank 3 (node0, 10.0.0.1) is 2.0x slower than the others"},
		{"a pause",
		 {1, 2.5, 1, 1},
		 {.1, 1.6, .1, .1},
		 2,
		 "warn",
		 "rank 1",
		 "node0",
		 "rank 1 (node0, 10.0.0.1) stood still for 1.6 s in step 34, and was as fast as "
		 "the "
		 "others otherwise"},
		{"of all at once",
		 {2.5, 2.5, 2.5, 2.5},
		 {1.6, 1.6, 1.6, 1.6},
		 2,
		 "info",
		 "cnn",
		 "node0",
		 "4 ranks"},
		{"quicker but for a pause",
		 {1.5, 1.5, 1.5, 1.5},
		 {.9, .1, .1, .1},
		 2,
		 "info",
		 "cnn",
		 "node0",
		 "4 ranks"},
		{"slow, and a pause",
		 {1, 4, 1, 1},
		 {.1, 1.6, .1, .1},
		 2,
		 "warn",
		 "rank 1",
		 "node0",
		 "rank 1 (node0, 10.0.0.1) is 2.7x slower than the others"},
		{"a short one",
		 {.1, .3, .1, .1},
		 {.01, .21, .01, .01},
		 2,
		 "info",
		 "cnn",
		 "node0",
		 "4 ranks"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		judge(&rows[i], NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_slow),
		cmocka_unit_test(who_was_robbed_of_its_processor_is_not_slow),
		cmocka_unit_test(who_crawls_is_told_from_who_has_little_to_do),
		cmocka_unit_test(who_spins_on_a_processor_of_its_own_is_held_up),
		cmocka_unit_test(what_costs_most_comes_first)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
