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
	{"k: \"it\\\"s\"\n", "it\"s"},
	{"k: \"\\xE9\"\n", "\u00e9"},
	{"k: \"\\u20AC\"\n", "\u20ac"},
	{"'k': v\n", "v"},
	{"k : v\n", "v"},
	{"k: 1_0\n", "10"},
	{"k: 0x10\n", "16"},
	{"k: 010\n", "8"},
	{"k: 0b11\n", "3"},
	{"k: 8:12\n", "492"},
	{"k: 08\n", "08"},
	{"k: '010'\n", "010"},
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
	assert_int_equal(accelerate_int(&c, ACCELERATE_RANK, -1), 3);
	assert_int_equal(accelerate_int(&c, "nothing", -1), -1);
}

static const struct {
	const char *text;
	enum accelerate_kind kind;
	long number;
} kinds[] = {
	{"", ACCELERATE_ABSENT, -9},
	{"k:\n", ACCELERATE_NULL, -9},
	{"k: ~\n", ACCELERATE_NULL, -9},
	{"k: no\n", ACCELERATE_BOOL, 0},
	{"k: On\n", ACCELERATE_BOOL, 1},
	{"k: 'no'\n", ACCELERATE_TEXT, -9},
	{"k: -1\n", ACCELERATE_INT, -1},
	{"k: '2'\n", ACCELERATE_TEXT, 2},
	{"k: two\n", ACCELERATE_TEXT, -9},
	{"k: 1e3\n", ACCELERATE_TEXT, -9},
	{"k: 1.5\n", ACCELERATE_FLOAT, 1},
	{"k: 16.\n", ACCELERATE_FLOAT, 16},
	{"k: .5\n", ACCELERATE_FLOAT, 0},
	{"k: 10.0.0.1\n", ACCELERATE_TEXT, -9},
	{"k: [1]\n", ACCELERATE_OTHER, -9},
	{"k:\n- 1\n", ACCELERATE_OTHER, -9},
	{"k:\n  a: 1\n", ACCELERATE_OTHER, -9},
};

static void a_value_has_a_kind(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct accelerate c = parsed(kinds[i].text);

		if (accelerate_kind(&c, "k") != kinds[i].kind ||
		    accelerate_int(&c, "k", -9) != kinds[i].number)
			fail_msg("%s: kind %d, %ld", kinds[i].text, accelerate_kind(&c, "k"),
				 accelerate_int(&c, "k", -9));
	}
}

static void json_is_read_as_yaml(void **state UNUSED)
{
	static const char text[] = "{\"machine_rank\": 1, \"gpu_ids\": \"0\", \"debug\": true, "
				   "\"o\": {\"x\": null}, \"f\": 1.5}";
	struct accelerate c = {.path = "f.json"};

	accelerate_parse_json(&c, text, strlen(text), &a);
	assert_null(c.broken);
	assert_int_equal(accelerate_int(&c, ACCELERATE_RANK, -1), 1);
	assert_int_equal(accelerate_kind(&c, "gpu_ids"), ACCELERATE_TEXT);
	assert_int_equal(accelerate_kind(&c, "debug"), ACCELERATE_BOOL);
	assert_int_equal(accelerate_kind(&c, "o.x"), ACCELERATE_NULL);
	assert_int_equal(accelerate_kind(&c, "f"), ACCELERATE_FLOAT);
	accelerate_parse_json(&c, "{", 1, &a);
	assert_non_null(c.broken);
}

#define GPUS "distributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 16\n"
/* What accelerate refuses is compared with it by tests/launchers/accelerate.bats. */
static const struct {
	const char *text, *key; /* NULL: not refused */
} refusals[] = {
	{GPUS, NULL},
	{"", ""},
	{"- a\n", ""},
	{GPUS "nonsense\n", ""},
	{GPUS "main_process_ip: a: b\n", ""},
	{GPUS "main_process_ip: 'a' b\n", ""},
	{GPUS "\tdebug: true\n", ""},
	{GPUS "debug: true\n  x: 1\n", ""},
	{GPUS "mixed_precision: no\n", "mixed_precision"},
	{GPUS "mixed_precision: 'no'\n", NULL},
	{GPUS "mixed_precision: FP16\n", NULL},
	{GPUS "gpu_ids: 0\n", "gpu_ids"},
	{GPUS "gpu_ids: '0'\n", NULL},
	{GPUS "gpu_ids: '0'\nnum_machines: 1\n", "gpu_ids"},
	{GPUS "ipex_config:\n  ipex: true\n", "ipex_config"},
	{GPUS "main_process_port: '29500'\n", "main_process_port"},
	{GPUS "main_process_port: '29500'\nmachine_rank: 1\n", NULL},
	{GPUS "main_process_port: 65536\n", "main_process_port"},
	{GPUS "num_processes: '16'\n", "num_processes"},
	{GPUS "num_processes: 1\n", "num_processes"},
	{GPUS "num_machines: '2'\n", "num_machines"},
	{GPUS "main_process_ip: http://h\n", "main_process_ip"},
	{GPUS "main_process_ip: '[fd00::1]'\n", NULL},
	{GPUS "machine_rank: null\n", ACCELERATE_RANK},
	{"num_processes: 2\n", "distributed_type"},
	{"distributed_type: TPU\n", "distributed_type"},
	{"\xef\xbb\xbf" GPUS, NULL}, /* as some editors begin */
	{GPUS "main_process_ip: caf\xe9\n", ""},
	{GPUS "# \x1b[31m\n", ""},
	{"distributed_type: MULTI_CPU\nnum_processes: 2\nnum_machines: 0\nuse_cpu: true\n",
	 "num_machines"},
	{"distributed_type: NO\n", "num_processes"},
	{"distributed_type: 'NO'\n", NULL},
	{"distributed_type: 'NO'\nnum_machines: 2\nmain_process_ip: h\n", "main_process_port"},
	{"distributed_type: FSDP\nnum_processes: 2\nfsdp_config:\n"
	 "  fsdp_sync_module_states: false\n",
	 "fsdp_config.fsdp_sync_module_states"},
	{GPUS "dynamo_config:\n  dynamo_backend: NO\n", "dynamo_config.dynamo_backend"},
};

static void what_is_refused(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		struct accelerate c = parsed(refusals[i].text);
		const struct accelerate_refusal *r = accelerate_refuses(&c, NULL, &a);
		const char *key = refusals[i].key;

		if (!r != !key || (r && !streq(r->key, key)))
			fail_msg("%s: %s: %s", refusals[i].text, r ? r->key : "not refused",
				 r ? r->why : "");
	}
}

#define TWO "num_machines: 2\n"
#define PORT "main_process_port: 29500\n"
/* Between versions; 0: that which is here is not known. */
static const struct {
	const char *text;
	unsigned version;
	const char *key;
	bool is_guess;
} versions[] = {
	{GPUS "ipex_config: {}\n", 112, NULL, false},
	{GPUS "ipex_config: {}\n", 113, "ipex_config", false},
	{GPUS "ipex_config: {}\n", 0, "ipex_config", true},
	{GPUS "num_process: 2\n", 0, "num_process", false},
	{GPUS "TP: 2\n", 0, "TP", false}, /* a type, and no key */
	/* what is certain is not hidden behind a guess */
	{GPUS "ipex_config: {}\nmixed_precision: no\n", 0, "mixed_precision", false},
	{GPUS "tp_config: {}\ngpu_ids: 0\n", 0, "gpu_ids", false},
	{GPUS "ipex_config: {}\nnum_process: 2\n", 0, "num_process", false},
	{GPUS "ipex_config: {}\ntp_config: {}\n", 0, "ipex_config", true},
	{"distributed_type: TP\nnum_processes: 2\n", 0, "distributed_type", true},
	{"distributed_type: TP\nnum_processes: 2\n", 109, NULL, false},
	{"distributed_type: TP\nnum_processes: 2\n", 110, "distributed_type", false},
	{"distributed_type: TP\nnum_processes: 2\nnum_process: 2\n", 0, "num_process", false},
	{GPUS PORT "tp_config: {}\n", 103, "tp_config", false},
	{GPUS PORT "tp_config: {}\n", 106, NULL, false},
	{GPUS "parallelism_config: {}\n", 109, "parallelism_config", false},
	{GPUS "parallelism_config: {}\n", 0, NULL, false},
	{GPUS "main_process_port: null\n", 106, "main_process_port", false},
	{GPUS "main_process_port: null\n", 107, NULL, false},
	{"distributed_type: MULTI_HPU\nnum_processes: 2\n", 104, "distributed_type", false},
	{"distributed_type: MULTI_HPU\nnum_processes: 2\n", 105, NULL, false},
	{GPUS "dynamo_config:\n  backend: x\n", 113, NULL, false},
	{GPUS "dynamo_config:\n  backend: x\n", 114, "dynamo_config.backend", false},
	{GPUS "dynamo_config:\n  backend: x\n", 0, "dynamo_config.backend", true},
	{GPUS "dynamo_config:\n  dynamo_backend: x\n", 0, "dynamo_config.dynamo_backend", false},
	{"distributed_type: 'NO'\nnum_machines: 2\nmain_process_ip: h\n", 107, NULL, false},
	{"distributed_type: 'NO'\nnum_machines: 2\nmain_process_ip: h\n", 108, "main_process_port",
	 false},
	{"distributed_type: 'NO'\nnum_machines: 2\nmain_process_ip: h\n", 0, "main_process_port",
	 true},
	{"distributed_type: 'NO'\nnum_machines: 2\nmain_process_ip: h\n" PORT
	 "num_processes: '2'\n",
	 0, "num_processes", true},
	{"distributed_type: 'NO'\nuse_cpu: maybe\n", 114, NULL, false},
	{"distributed_type: 'NO'\nuse_cpu: maybe\n", 115, "use_cpu", false},
	{"distributed_type: 'NO'\nuse_cpu: maybe\n", 0, "use_cpu", true},
};

static void versions_differ(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		struct accelerate c = parsed(versions[i].text);
		const struct accelerate_refusal *r;

		c.version = versions[i].version;
		r = accelerate_refuses(&c, NULL, &a);
		if (!r != !versions[i].key ||
		    (r && (!streq(r->key, versions[i].key) || r->is_guess != versions[i].is_guess)))
			fail_msg("%s by %u: %s %s", versions[i].text, c.version,
				 r ? r->key : "not refused", r ? r->why : "");
	}
}

static const struct {
	const char *text;
	enum accelerate_way way;
} ways[] = {
	{"", ACCELERATE_ALONE},
	{"distributed_type: MULTI_GPU\n", ACCELERATE_ALONE},
	{TWO "distributed_type: 'NO'\n", ACCELERATE_APART},
	{TWO "distributed_type: MULTI_GPU\n", ACCELERATE_STATIC},
	{TWO "distributed_type: FSDP\nrdzv_backend: static\n", ACCELERATE_STATIC},
	{TWO "distributed_type: MULTI_GPU\nrdzv_backend: c10d\n", ACCELERATE_STATIC},
	{TWO "distributed_type: NO\n", ACCELERATE_APART},
	{TWO "distributed_type: MULTI_CPU\n", ACCELERATE_APART},
	{TWO "distributed_type: MULTI_CPU\nmpirun_config:\n  mpirun_hostfile: h\n",
	 ACCELERATE_OTHER_WAY},
	{TWO "distributed_type: XLA\n", ACCELERATE_OTHER_WAY},
	{TWO "distributed_type: DEEPSPEED\n", ACCELERATE_OTHER_WAY},
	{TWO "distributed_type: DEEPSPEED\ndeepspeed_config:\n"
	     "  deepspeed_multinode_launcher: standard\n",
	 ACCELERATE_STATIC},
	{TWO "compute_environment: AMAZON_SAGEMAKER\n", ACCELERATE_OTHER_WAY},
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
	static const char anew[] = "accelerate config --config_file f   # asks anew";

	assert_string_equal(accelerate_fix(&a, "~/a b", "k", "1"),
			    "sed -i '/^k:/d' ~/'a b' && printf '\\n%s\\n' 'k: 1' >>~/'a b'");
	/* a key is the file's own text: none of it is for a shell */
	assert_string_equal(accelerate_fix(&a, "f", "x'; touch y; '", ""), anew);
	assert_string_equal(accelerate_fix(&a, "f", "a/b", "1"), anew);
	assert_string_equal(accelerate_fix(&a, "f", "", ""), anew);
	assert_string_equal(accelerate_fix(&a, "f", "a.k", "1"),
			    "sed -i 's/^\\( *k:\\).*/\\1 1/' f");
	assert_string_equal(accelerate_fix(&a, "f", "k", ""),
			    "sed -i '/^k:/,/^[^ -]/{/^k:/d;/^[ -]/d}' f");
	assert_string_equal(accelerate_fix(&a, "f.json", "k", "'no'"),
			    "jq '.k = \"no\"' f.json >f.json.new && mv f.json.new f.json || "
			    "rm -f f.json.new   # needs jq");
	assert_string_equal(accelerate_fix(&a, "$(x)/f", "k", "$(x)"),
			    "sed -i '/^k:/d' '$(x)/f' && printf '\\n%s\\n' 'k: $(x)' >>'$(x)/f'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_a_key),    cmocka_unit_test(a_key_knows_its_line),
		cmocka_unit_test(a_value_has_a_kind), cmocka_unit_test(json_is_read_as_yaml),
		cmocka_unit_test(what_is_refused),    cmocka_unit_test(the_way_of_a_launch),
		cmocka_unit_test(versions_differ),    cmocka_unit_test(a_fix_is_quoted),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
