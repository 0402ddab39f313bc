/* Answers that are strange, about alike, or not there: what drift makes of single values. */
#include "tests/unit/drift_world.h"

static void drift(struct world *w, const char *const *facts, size_t n)
{
	world_init(w, facts, n);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_no_number),
		cmocka_unit_test(t_limits_about_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
