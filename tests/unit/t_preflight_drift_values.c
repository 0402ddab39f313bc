/* Answers that are strange, about alike, or not there: what drift makes of single values. */
#include "tests/unit/drift_world.h"

static void drift(struct world *w, const char *const *facts, size_t n)
{
	world_init(w, facts, n);
	preflight_drift(&w->p, &w->all, 0, 1e12);
}

/* Of hosts that looked at their GPUs, too. */
static void drift_whole(struct world *w, const char *const *facts, size_t n)
{
	world_init(w, facts, n);
	for (size_t i = 0; i < n; i++)
		(void)json_object(json_object(w->all.v[i].doc, "host"), "facts");
	preflight_drift(&w->p, &w->all, 0, 1e12);
}

/* What another host says in place of a number is none: text, less than nothing, more than any. */
static void t_no_number(void **state)
{
	static const char *const nonsense[] = {"\"lots\"", "1e999", "-1", "1e300", "null", "[4]"};
	static const char *const keys[] = {"gpus", "memory", "matmul_tflops", "cpus", "memlock"};
	struct world w;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(keys); k++)
		for (size_t i = 0; i < ARRAY_LEN(nonsense); i++) {
			struct arena a = {0};
			const char *fine = streq(keys[k], "memlock")
						   ? "{\"memlock\":\"8388608\"}"
						   : arena_printf(&a, "{\"%s\":8}", keys[k]);
			const char *facts[] = {
				fine, arena_printf(&a, "{\"%s\":%s}", keys[k], nonsense[i]), fine};

			drift(&w, facts, ARRAY_LEN(facts));
			assert_int_equal(w.p.t.items.n, 1);
			assert_string_equal(found(&w, 0)->check, "drift.all");
			world_done(&w);
			arena_done(&a);
		}
}

/* An eighth of the memory is not the same number of KiB on twins. */
static void t_limits_about_alike(void **state)
{
	static const char *const twins[] = {
		"{\"memlock\":\"270582939648\",\"nofile\":\"1048576\"}",
		"{\"memlock\":\"270582902784\",\"nofile\":\"1048000\"}",
		"{\"memlock\":\"270582935552\",\"nofile\":\"1048576\"}"};
	static const char *const odd[] = {"{\"memlock\":\"unlimited\"}",
					  "{\"memlock\":\"270582902784\"}",
					  "{\"memlock\":\"unlimited\"}"};
	struct world w;

	(void)state;
	drift(&w, twins, ARRAY_LEN(twins));
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->check, "drift.all");
	world_done(&w);
	drift(&w, odd, ARRAY_LEN(odd));
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->check, "drift.memlock");
	assert_string_equal(found(&w, 0)->host, "n1");
	assert_string_equal(found(&w, 0)->message, "270582902784 here, unlimited on 2 of 3 hosts");
	world_done(&w);
}

static void expect_none(const struct world *w, size_t i, const char *check, const char *message,
			const char *fix)
{
	assert_string_equal(found(w, i)->check, check);
	assert_int_equal(found(w, i)->status, ST_WARN);
	assert_string_equal(found(w, i)->host, "n2");
	assert_string_equal(found(w, i)->message, message);
	assert_non_null(strstr(found(w, i)->fix.v[0], fix));
}

/* What others have and one has not is as different as another version of it. */
static void t_none_here(void **state)
{
	static const char all[] = "{\"gpus\":8,\"driver\":\"550\",\"nccl\":\"2.20.5\","
				  "\"torch\":\"2.3.0\",\"efa\":32}";
	static const char *const facts[] = {all, all, "{\"gpus\":8}"};
	struct world w;

	(void)state;
	drift_whole(&w, facts, ARRAY_LEN(facts));
	assert_int_equal(w.p.t.items.n, 4);
	expect_none(&w, 0, "drift.driver", "none here, 550 on 2 of 3 hosts", "modprobe nvidia");
	expect_none(&w, 1, "drift.nccl", "none here, 2.20.5 on 2 of 3 hosts", "==2.20.5");
	expect_none(&w, 2, "drift.torch", "none here, 2.3.0 on 2 of 3 hosts", "==2.3.0");
	expect_none(&w, 3, "drift.efa", "none here, 32 on 2 of 3 hosts", "infiniband");
	world_done(&w);
	drift_whole(&w, facts + 1, 2); /* and of two neither is the odd one */
	assert_int_equal(w.p.t.items.n, 4);
	assert_string_equal(found(&w, 2)->message, "2.3.0 on n0; none on n1");
	world_done(&w);
	drift(&w, facts, ARRAY_LEN(facts)); /* who came to no end has not said that there is none */
	assert_string_equal(found(&w, 0)->check, "drift.all");
	world_done(&w);
}

/* What one host alone has is no matter of the others. */
static void t_only_there(void **state)
{
	static const char *const facts[] = {"{\"torch\":\"2.3.0\",\"cpus\":8}", "{\"cpus\":8}",
					    "{\"cpus\":8}"};
	struct world w;

	(void)state;
	drift_whole(&w, facts, ARRAY_LEN(facts));
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->check, "drift.all");
	world_done(&w);
}

/* A host without GPUs is said to be one, and that alone: what serves them it need not have. */
static void t_head_node(void **state)
{
	static const char all[] = "{\"gpus\":8,\"driver\":\"550\",\"nccl\":\"2.20.5\","
				  "\"torch\":\"2.3.0\",\"efa\":32}";
	static const char *const facts[] = {all, all, "{\"gpus\":0}"};
	struct world w;

	(void)state;
	drift_whole(&w, facts, ARRAY_LEN(facts));
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->check, "drift.gpus");
	assert_int_equal(found(&w, 0)->status, ST_FAIL);
	assert_string_equal(found(&w, 0)->message, "none here, 8 on 2 of 3 hosts");
	assert_non_null(strstr(found(&w, 0)->fix.v[0], "head node"));
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_no_number), cmocka_unit_test(t_limits_about_alike),
		cmocka_unit_test(t_none_here), cmocka_unit_test(t_only_there),
		cmocka_unit_test(t_head_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
