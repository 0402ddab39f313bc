/* accelerate's file: which lines are keys, what their values are, how a launch would go. */
#include "probes/rules/accelerate.h"
#include "tests/unit/composed.h"

static struct arena a;

static int end(void **state UNUSED)
{
	arena_done(&a);
	return 0;
}

static struct accelerate parsed(const char *text)
{
	struct accelerate c = {.path = "f"};

	accelerate_parse(&c, text, strlen(text), &a);
	return c;
}

/* What `k` is in each of these; NULL: nothing, or null. Right is what PyYAML says of it. */
static const struct {
	const char *text, *value;
} lines[] = {
	{"k: v\n", "v"},
	{"k: v", "v"},
	{"k:   v  \r\n", "v"},
	{"k: a b\n", "a b"},
	{"k: v # why\n", "v"},
	{"k: v#w\n", "v#w"},
	{"k: '10.0.0.1'\n", "10.0.0.1"},
	{"k: 'it''s'\n", "it's"},
	{"k: ''\n", ""},
	{"k: '''' # one\n", "'"},
	{"k: \"v\"\n", "v"},
	{"k: 'v\n", NULL},
	{"k:\n", NULL},
	{"k: # nothing\n", NULL},
	{"k: null\n", NULL},
	{"k: ~\n", NULL},
	{"k: {}\n", NULL},
	{"k: []\n", NULL},
	{"k: 1\nk: 2\n", "2"},
	{"k: 1\nk: null\n", NULL},
	{"# k: v\n", NULL},
	{"- k: v\n", NULL},
	{"o:\n  k: v\n", NULL},
	{"o:\n- a\n- k: v\nk: w\n", "w"},
	{"k:v\n", NULL},
	{"k v\n", NULL},
	{": v\n", NULL},
	{"---\nk: fd00::1\n", "fd00::1"},
	{"k: http://h:1\n", "http://h:1"},
};

static void a_line_is_a_key(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct accelerate c = parsed(lines[i].text);
		const char *got = accelerate_get(&c, "k");

		if (!!got != !!lines[i].value || (got && !streq(got, lines[i].value)))
			fail_msg("%s: '%s', not '%s'", lines[i].text, got ?: "(nothing)",
				 lines[i].value ?: "(nothing)");
	}
}

static void a_key_knows_its_line(void **state UNUSED)
{
	struct accelerate c = parsed("a: 1\n\nmachine_rank: 3\n");

	assert_int_equal(c.keys.n, 2);
	assert_string_equal(c.keys.v[1].origin, "f:3");
	assert_int_equal(accelerate_number(&c, ACCELERATE_RANK), 3);
	assert_int_equal(accelerate_number(&c, "nothing"), -1);
}

static void numbers_are_whole(void **state UNUSED)
{
	static const char *const none[] = {"n: -1\n", "n: two\n", "n: 1.5\n", "n: 99999999999\n",
					   "n: ''\n"};

	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		struct accelerate c = parsed(none[i]);

		assert_int_equal(accelerate_number(&c, "n"), -1);
	}
}

#define TWO "num_machines: 2\n"
static const struct {
	const char *text;
	enum accelerate_way way;
} ways[] = {
	{"", ACCELERATE_ALONE},
	{"distributed_type: MULTI_GPU\n", ACCELERATE_ALONE},
	{TWO "distributed_type: 'NO'\n", ACCELERATE_APART},
	{TWO "distributed_type: MULTI_GPU\n", ACCELERATE_STATIC},
	{TWO "distributed_type: FSDP\nrdzv_backend: static\n", ACCELERATE_STATIC},
	{TWO "distributed_type: MULTI_GPU\nrdzv_backend: c10d\n", ACCELERATE_C10D},
	{TWO "distributed_type: MULTI_CPU\n", ACCELERATE_OTHER},
	{TWO "distributed_type: XLA\n", ACCELERATE_OTHER},
	{TWO "distributed_type: DEEPSPEED\n", ACCELERATE_OTHER},
	{TWO "distributed_type: DEEPSPEED\ndeepspeed_config:\n"
	     "  deepspeed_multinode_launcher: standard\n",
	 ACCELERATE_STATIC},
	{TWO "compute_environment: AMAZON_SAGEMAKER\n", ACCELERATE_OTHER},
};

static void the_way_of_a_launch(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		struct accelerate c = parsed(ways[i].text);

		if (accelerate_way(&c) != ways[i].way)
			fail_msg("%s: way %d, not %d", ways[i].text, accelerate_way(&c),
				 ways[i].way);
	}
}

static void a_fix_is_quoted(void **state UNUSED)
{
	assert_string_equal(accelerate_fix(&a, "~/a b", "k", "1"),
			    "sed -i '/^k:/d' ~/'a b' && echo 'k: 1' >>~/'a b'");
	assert_string_equal(accelerate_fix(&a, "$(x)/f", "k", "$(x)"),
			    "sed -i '/^k:/d' '$(x)/f' && echo 'k: $(x)' >>'$(x)/f'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_a_key),   cmocka_unit_test(a_key_knows_its_line),
		cmocka_unit_test(numbers_are_whole), cmocka_unit_test(the_way_of_a_launch),
		cmocka_unit_test(a_fix_is_quoted),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
