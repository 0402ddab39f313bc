/* What differs between hosts, and whom a matrix of bad pairs accuses. */
#include "tests/unit/drift_world.h"

#include "lib/core/version.h"

#include <time.h>

static void t_odd_one(void **state)
{
	static const char *const facts[] = {"{\"gpus\":8,\"nccl\":\"2.20.5\",\"memory\":1000}",
					    "{\"gpus\":7,\"nccl\":\"2.20.5\",\"memory\":1010}",
					    "{\"gpus\":8,\"nccl\":\"2.18.1\",\"memory\":990}",
					    "{\"gpus\":8}"};
	struct world w;

	(void)state;
	world_init(&w, facts, ARRAY_LEN(facts));
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_int_equal(w.p.t.items.n,
			 2); /* a percent of memory is nothing; unknown is nobody's fault */
	assert_string_equal(found(&w, 0)->check, "drift.gpus");
	assert_int_equal(found(&w, 0)->status, ST_FAIL);
	assert_string_equal(found(&w, 0)->host, "n1");
	assert_string_equal(found(&w, 0)->message, "7 here, 8 on 3 of 4 hosts");
	assert_string_equal(found(&w, 1)->check, "drift.nccl");
	assert_string_equal(found(&w, 1)->host, "n2");
	assert_string_equal(found(&w, 1)->expected, "2.20.5, as on the others");
	assert_non_null(strstr(found(&w, 1)->fix.v[0], "==2.20.5"));
	world_done(&w);
}

/* A job that was given 4 of 64 processors on one node: the machines are alike, and it is slow
 * there. A node that has fewer is said to once, and so is one whose limit was a finding by itself.
 */
static void t_processors_that_may_be_used(void **state)
{
	static const char *const few[] = {"{\"cpus\":64,\"cpus_usable\":64}",
					  "{\"cpus\":64,\"cpus_usable\":4}",
					  "{\"cpus\":64,\"cpus_usable\":64}"};
	static const char *const smaller[] = {"{\"cpus\":64,\"cpus_usable\":32}",
					      "{\"cpus\":16,\"cpus_usable\":16}",
					      "{\"cpus\":64,\"cpus_usable\":32}"};
	struct world w;

	(void)state;
	world_init(&w, few, ARRAY_LEN(few));
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->check, "drift.cpus_usable");
	assert_string_equal(found(&w, 0)->host, "n1");
	assert_string_equal(found(&w, 0)->message, "4 here, 64 on 2 of 3 hosts");
	assert_non_null(strstr(found(&w, 0)->fix.v[0], "--cpus-per-task=64"));
	world_done(&w);
	world_init(&w, few, 2);
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->message, "64 on n0; 4 on n1");
	world_done(&w);
	world_init(&w, few, 2);
	finding_set(tally_add(&w.p.t, S_LIMITS, "limits", "limits.cpus", "processors"), ST_WARN,
		    "a control group allows the time of 4 of 64");
	tally_of_host(&w.p.t, "n1");
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_string_equal(found(&w, 1)->check, "drift.all"); /* beside that one nothing */
	world_done(&w);
	world_init(&w, smaller, ARRAY_LEN(smaller));
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->check, "drift.cpus");
	world_done(&w);
}

/* A container's own 512 MiB beside the half of the memory that all others have; what follows from
 * another size of memory is told once, and more than the others have is no loss. */
static void t_shared_memory(void **state)
{
#define HALF "{\"memory\":1000e9,\"shm\":500e9}"
#define SMALL "{\"memory\":1000e9,\"shm\":512e6}"
	static const char *const few[] = {HALF, SMALL, HALF};
	static const char *const halves[] = {HALF, "{\"memory\":500e9,\"shm\":250e9}", HALF};
	static const char *const given[] = {SMALL, "{\"memory\":500e9,\"shm\":512e6}", HALF, SMALL};
	struct world w;

	(void)state;
	world_init(&w, few, ARRAY_LEN(few));
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->check, "drift.shm");
	assert_int_equal(found(&w, 0)->status, ST_WARN);
	assert_string_equal(found(&w, 0)->host, "n1");
	assert_string_equal(found(&w, 0)->message, "488.3 MiB here, 465.7 GiB on 2 of 3 hosts");
	assert_non_null(strstr(found(&w, 0)->fix.v[0], "remount,size=50% /dev/shm   # docker"));
	assert_non_null(strstr(found(&w, 0)->fix.v[0], "the others have 465.7 GiB"));
	world_done(&w);
	world_init(&w, few, ARRAY_LEN(few)); /* beside its own finding nothing */
	finding_set(tally_add(&w.p.t, S_LIMITS, "limits", "limits.shm", "/dev/shm"), ST_WARN,
		    "has 64 MiB");
	tally_of_host(&w.p.t, "n1");
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_string_equal(found(&w, 1)->check, "drift.all");
	world_done(&w);
	world_init(&w, halves, ARRAY_LEN(halves));
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->check, "drift.memory");
	world_done(&w);
	world_init(&w, halves, 2);
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_int_equal(w.p.t.items.n, 1);
	world_done(&w);
	world_init(&w, given, ARRAY_LEN(given));
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->check, "drift.memory");
	world_done(&w);
}

/* A job that may use a part of the memory on one node. */
static void t_memory_that_may_be_used(void **state)
{
	static const char *const facts[] = {"{\"memory\":1000e9,\"memory_usable\":1000e9}",
					    "{\"memory\":1000e9,\"memory_usable\":64e9}",
					    "{\"memory\":1000e9,\"memory_usable\":1000e9}"};
	struct world w;

	(void)state;
	world_init(&w, facts, ARRAY_LEN(facts));
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->check, "drift.memory_usable");
	assert_string_equal(found(&w, 0)->host, "n1");
	world_done(&w);
}

/* What makes the run right now, then what lasts; where ours is the odd one, on all the others. */
static void t_versions(void **state)
{
	static const char *const one[] = {"{\"windsock\":\"9.9\"}",
					  "{\"windsock\":\"" WINDSOCK_VERSION "\"}",
					  "{\"windsock\":\"" WINDSOCK_VERSION "\"}"};
	static const char *const ours[] = {"{\"windsock\":\"" WINDSOCK_VERSION "\"}",
					   "{\"windsock\":\"9.9\"}", "{\"windsock\":\"9.9\"}"};
	struct world w;

	(void)state;
	world_init(&w, one, ARRAY_LEN(one));
	w.p.given = "n[0-2]";
	w.p.rsh = "myrsh -x";
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->host, "n0");
	assert_string_equal(found(&w, 0)->fix.v[0], "windsock --quick --rsh 'myrsh -x' --hosts "
						    "'n[0-2]' --copy-self   # brings it along");
	world_done(&w);
	world_init(&w, ours, ARRAY_LEN(ours));
	w.p.given = "n[0-2]";
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_string_equal(found(&w, 0)->host, "n0");
	assert_string_equal(found(&w, 0)->fix.v[0], "windsock --quick --hosts 'n[0-2]' "
						    "--copy-self   # brings it along");
	world_done(&w);
}

static void t_no_majority_and_more(void **state)
{
	static const char *const facts[] = {
		"{\"driver\":\"550\",\"gpus\":8}", "{\"driver\":\"535\",\"gpus\":8}",
		"{\"driver\":\"550\",\"gpus\":8}", "{\"driver\":\"535\",\"gpus\":16}"};
	struct world w;

	(void)state;
	world_init(&w, facts, ARRAY_LEN(facts));
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_int_equal(w.p.t.items.n, 2);
	assert_int_equal(found(&w, 0)->status, ST_WARN); /* more than the others is no loss */
	assert_string_equal(found(&w, 0)->host, "n3");
	assert_null(found(&w, 1)->host);
	assert_string_equal(found(&w, 1)->message, "550 on n[0,2]; 535 on n[1,3]");
	world_done(&w);
}

/* As text 20 stands between 101 and 99, and the three that are alike would not be side by side. */
static void t_slower_than_the_others(void **state)
{
	static const char *const facts[] = {"{\"matmul_tflops\":99}", "{\"matmul_tflops\":100}",
					    "{\"matmul_tflops\":101}", "{\"matmul_tflops\":20}"};
	struct world w;

	(void)state;
	world_init(&w, facts, ARRAY_LEN(facts));
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->check, "drift.matmul_tflops");
	assert_int_equal(found(&w, 0)->status, ST_WARN);
	assert_string_equal(found(&w, 0)->host, "n3");
	assert_string_equal(found(&w, 0)->message, "20 here, 99 on 3 of 4 hosts");
	world_done(&w);
}

static void t_alike_and_clock(void **state)
{
	static const char *const facts[] = {"{\"gpus\":8,\"clock\":105}",
					    "{\"gpus\":8,\"clock\":50}",
					    "{\"gpus\":8,\"clock\":111.5}"};
	struct world w;

	(void)state;
	world_init(&w, facts, ARRAY_LEN(facts));
	preflight_drift(&w.p, &w.all, 100, 110);
	assert_int_equal(w.p.t.items.n, 1); /* a second and a half is slack */
	assert_string_equal(found(&w, 0)->check, "drift.clock");
	assert_string_equal(found(&w, 0)->host, "n1");
	assert_string_equal(found(&w, 0)->message,
			    "is 50 s behind this host's: logs of several hosts do not line up");
	world_done(&w);
	world_init(&w, facts, 1);
	preflight_drift(&w.p, &w.all, 100, 110);
	assert_int_equal(w.p.t.items.n, 0); /* one host has nobody to differ from */
	world_done(&w);
}

static void t_own_clock(void **state)
{
	static const char *const facts[] = {"{\"clock\":105}", "{\"clock\":3705}",
					    "{\"clock\":3706}", "{\"clock\":3704}",
					    "{\"clock\":7300}"};
	struct world w;

	(void)state;
	world_init(&w, facts, ARRAY_LEN(facts)); /* n0 is this host */
	preflight_drift(&w.p, &w.all, 100, 110);
	assert_int_equal(w.p.t.items.n, 2);
	assert_null(found(&w, 0)->host);
	assert_string_equal(found(&w, 0)->message,
			    "is 3595 s behind most other hosts'"
			    ": Slurm's munge, Kerberos and clouds refuse what it signs");
	assert_string_equal(found(&w, 1)->host, "n4");
	assert_int_equal(found(&w, 1)->fix.n, 1); /* ours is no clock to set it by */
	assert_string_equal(found(&w, 1)->message,
			    "is 3595 s ahead of most hosts'"
			    ": Slurm's munge, Kerberos and clouds refuse what it signs");
	world_done(&w);
	world_init(&w, facts, 2); /* of two nobody is the majority */
	preflight_drift(&w.p, &w.all, 100, 110);
	assert_int_equal(w.p.t.items.n, 1);
	assert_int_equal(found(&w, 0)->fix.n, 2);
	assert_string_equal(found(&w, 0)->message,
			    "is 3595 s ahead of this host's"
			    ": Slurm's munge, Kerberos and clouds refuse what it signs");
	world_done(&w);
}

static void t_names(void **state)
{
	static const char *const facts[] = {"{}", "{}", "{}", "{}", "{}"};
	static const char *const names[] = {"a", "gpu1", "c", "gpu1", NULL};
	struct world w;

	(void)state;
	world_init(&w, facts, ARRAY_LEN(facts));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		w.all.v[i].hostname = names[i];
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		cJSON_AddStringToObject(w.all.v[i].doc, "boot", i == 3 ? "other" : "one");
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->check, "drift.hostname");
	assert_string_equal(found(&w, 0)->subject, "gpu1");
	assert_string_equal(found(&w, 0)->message,
			    "is what n[1,3] call themselves: launchers and logs take them for one "
			    "host");
	assert_string_equal(found(&w, 0)->fix.v[0], "sudo hostnamectl set-hostname n3");
	world_done(&w);
	world_init(&w, facts, 2); /* of machines that joined no other name is known */
	for (size_t i = 0; i < 2; i++)
		w.all.v[i].host = w.all.v[i].hostname = "gpu1";
	drift_names(&w.p, &w.all);
	assert_int_equal(w.p.t.items.n, 1);
	assert_non_null(strstr(found(&w, 0)->fix.v[0], "set-hostname NAME   # "));
	world_done(&w);
	world_init(&w, facts, 2); /* and an address is none */
	for (size_t i = 0; i < 2; i++) {
		w.all.v[i].host = i ? "ubuntu@10.0.0.2" : "ubuntu@10.0.0.1";
		w.all.v[i].hostname = "gpu1";
	}
	drift_names(&w.p, &w.all);
	assert_non_null(strstr(found(&w, 0)->fix.v[0], "set-hostname NAME   # "));
	world_done(&w);
	world_init(&w, facts, 3);
	for (size_t i = 0; i < 3; i++) {
		w.all.v[i].hostname = i ? "gpu1" : "a";
		cJSON_AddStringToObject(w.all.v[i].doc, "boot", "one");
	}
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_int_equal(w.p.t.items.n, 1);
	assert_non_null(strstr(found(&w, 0)->message, "is the name of n[1-2]: one machine"));
	assert_string_equal(found(&w, 0)->fix.v[0],
			    "windsock --hosts 'n[0-1]'   # each machine once");
	world_done(&w);
}

/* limits.conf counts locked memory in kB. */
static void t_limit_fix(void **state)
{
	static const char *const facts[] = {"{\"memlock\":\"8388608\",\"nofile\":\"unlimited\"}",
					    "{\"memlock\":\"65536\",\"nofile\":\"1024\"}",
					    "{\"memlock\":\"8388608\",\"nofile\":\"unlimited\"}"};
	struct world w;

	(void)state;
	world_init(&w, facts, ARRAY_LEN(facts));
	preflight_drift(&w.p, &w.all, 0, 1e12);
	assert_int_equal(w.p.t.items.n, 2);
	assert_non_null(strstr(found(&w, 0)->fix.v[0], "echo \"$u - nofile 1048576\""));
	assert_non_null(strstr(found(&w, 1)->fix.v[0], "echo \"$u - memlock 8192\""));
	world_done(&w);
}

static void culprits(const char *text, const char *want)
{
	struct err e = {0};
	struct world w;
	cJSON *m = json_parse(text, strlen(text), 8, &e);
	struct text got;

	assert_non_null(m);
	world_init(&w, NULL, 0);
	preflight_find_culprits(&w.p, m);
	text_init(&got, &w.a);
	for (size_t i = 0; i < w.p.culprits.n; i++)
		text_addf(&got, "%s ", w.p.culprits.v[i]);
	assert_string_equal(got.s, want);
	cJSON_Delete(m);
	world_done(&w);
}

static void t_culprits(void **state)
{
	(void)state;
	culprits("{\"hosts\":[\"a\",\"b\"],\"cells\":[[\"self\",\"ok\"],[\"ok\",\"self\"]]}", "");
	/* b reaches nobody and nobody reaches it: a and c are only witnesses */
	culprits("{\"hosts\":[\"a\",\"b\",\"c\"],\"cells\":[[\"self\",\"filtered\",\"ok\"],"
		 "[\"partial\",\"self\",\"refused\"],[\"ok\",\"filtered\",\"self\"]]}",
		 "b ");
	/* one pair alone: either may be it */
	culprits("{\"hosts\":[\"a\",\"b\",\"c\"],\"cells\":[[\"self\",\"filtered\",\"ok\"],"
		 "[\"ok\",\"self\",\"ok\"],[\"ok\",\"unknown\",\"self\"]]}",
		 "a b ");
	/* not what portcheck writes */
	culprits("{}", "");
	culprits("{\"hosts\":[7,\"b\"],\"cells\":[[\"x\",\"x\",\"x\"],7,{}]}", "");
}

/* Of a pair that fails alone the one whose own fault is known; the other is a witness. */
static void accused(const char *subject, const char *message, const char *want)
{
	static const char pair[] =
		"{\"hosts\":[\"a\",\"b\",\"c\"],\"cells\":[[\"self\",\"filtered\","
		"\"ok\"],[\"filtered\",\"self\",\"ok\"],[\"ok\",\"ok\",\"self\"]]}";
	struct world w;
	struct err e = {0};
	cJSON *m = json_parse(pair, strlen(pair), 8, &e);
	struct text got;

	world_init(&w, NULL, 0);
	finding_set(tally_add(&w.p.t, S_REACH, "reach", "mesh.out", subject), ST_FAIL, "%s",
		    message);
	preflight_find_culprits(&w.p, m);
	text_init(&got, &w.a);
	text_addf(&got, "%s", "");
	for (size_t i = 0; i < w.p.culprits.n; i++)
		text_addf(&got, "%s ", w.p.culprits.v[i]);
	assert_string_equal(got.s, want);
	cJSON_Delete(m);
	world_done(&w);
}

static void t_accused(void **state)
{
	(void)state;
	accused("b", "does not reach a: its own firewall: inet t c, handle 2: drop", "b ");
	accused("b", "does not reach a: no answer at all: perhaps inet t c, handle 2", "b ");
	accused("b", "is not reached: no answer at all: a firewall that drops: inet t c: drop",
		"b ");
	accused("b", "does not reach a: no answer at all: a security group", "a b ");
	accused("c", "a route of this host forbids it", "a b "); /* not of this pair */
}

static size_t ranks_told(struct world *w)
{
	w->p.t.items.n = 0;
	drift_ranks(&w->p, &w->all);
	return w->p.t.items.n;
}

/* One for each host is meant so; one that two have, or that some lack, is an old job's. */
static void t_ranks(void **state)
{
	static const char *const facts[] = {"{\"rank\":\"0\"}", "{\"rank\":\"1\"}",
					    "{\"rank\":\"1\"}", "{}"};
	struct answer second;
	struct world w;

	(void)state;
	world_init(&w, facts, ARRAY_LEN(facts));
	w.all.n = 2;
	assert_int_equal(ranks_told(&w), 0);
	w.all.n = 3;
	assert_int_equal(ranks_told(&w), 3);
	second = w.all.v[2];
	w.all.v[2] = w.all.v[3];
	w.all.v[3] = second;
	assert_int_equal(ranks_told(&w), 2);
	w.all.v[2].data = NULL; /* it did not answer */
	assert_int_equal(ranks_told(&w), 0);
	w.all.n = ARRAY_LEN(facts);
	world_done(&w);
}

/* It takes no longer for each of many hosts than for each of few. */
static void t_many_ranks(void **state)
{
	enum { MANY = 20000 };
	const char **facts = malloc(MANY * sizeof(*facts));
	char(*texts)[32] = malloc(MANY * sizeof(*texts));
	struct world w;
	clock_t begin;

	(void)state;
	assert_true(facts && texts);
	for (size_t i = 0; i < MANY; i++) {
		(void)snprintf(texts[i], sizeof(texts[i]), "{\"rank\":\"%zu\"}", i);
		facts[i] = texts[i];
	}
	world_init(&w, facts, MANY);
	begin = clock();
	assert_int_equal(ranks_told(&w), 0);
	assert_true(clock() - begin < 2 * CLOCKS_PER_SEC); /* of processor time; by pairs: 30 s */
	world_done(&w);
	free(facts);
	free(texts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_odd_one),
		cmocka_unit_test(t_processors_that_may_be_used),
		cmocka_unit_test(t_shared_memory),
		cmocka_unit_test(t_memory_that_may_be_used),
		cmocka_unit_test(t_no_majority_and_more),
		cmocka_unit_test(t_versions),
		cmocka_unit_test(t_slower_than_the_others),
		cmocka_unit_test(t_alike_and_clock),
		cmocka_unit_test(t_own_clock),
		cmocka_unit_test(t_names),
		cmocka_unit_test(t_limit_fix),
		cmocka_unit_test(t_culprits),
		cmocka_unit_test(t_accused),
		cmocka_unit_test(t_ranks),
		cmocka_unit_test(t_many_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
