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

/* A port that is down, a slow one, old firmware, another fabric: which of them is told, too. */
static void t_rdma(void **state)
{
#define FIRMWARE "\"rdma_fw\":\"28.39.1002\""
#define FABRIC "\"rdma_layer\":\"InfiniBand\",\"rdma_rate\":400"
#define EIGHT "{\"rdma_ports\":8," FABRIC "," FIRMWARE "}"
	static const struct {
		const char *odd, *check, *message;
		enum status status;
	} rows[] = {
		{"{\"rdma_ports\":7,\"rdma_down\":\"mlx5_4: DOWN\"," FABRIC "," FIRMWARE "}",
		 "drift.rdma_ports", "7 here, 8 on 3 of 4 hosts (mlx5_4: DOWN)", ST_FAIL},
		{"{\"rdma_ports\":0,\"rdma_down\":\"mlx5_0: DOWN\"," FABRIC "," FIRMWARE "}",
		 "drift.rdma_ports", "none here, 8 on 3 of 4 hosts (mlx5_0: DOWN)", ST_FAIL},
		{"{\"rdma_ports\":9," FABRIC "," FIRMWARE "}", "drift.rdma_ports",
		 "9 here, 8 on 3 of 4 hosts", ST_WARN},
		{"{\"rdma_ports\":8,\"rdma_layer\":\"InfiniBand\",\"rdma_rate\":200,"
		 "\"rdma_slow\":\"mlx5_7\"," FIRMWARE "}",
		 "drift.rdma_rate", "200 here, 400 on 3 of 4 hosts (mlx5_7)", ST_FAIL},
		{"{\"rdma_ports\":8," FABRIC ",\"rdma_fw\":\"28.36.1010\"}", "drift.rdma_fw",
		 "28.36.1010 here, 28.39.1002 on 3 of 4 hosts", ST_WARN},
		{"{\"rdma_ports\":8,\"rdma_layer\":\"RoCE\",\"rdma_rate\":400," FIRMWARE "}",
		 "drift.rdma_layer", "RoCE here, InfiniBand on 3 of 4 hosts", ST_FAIL},
		{EIGHT, "drift.all", NULL, ST_PASS},
	};
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *const facts[] = {EIGHT, EIGHT, EIGHT, rows[i].odd};

		drift(&w, facts, ARRAY_LEN(facts));
		assert_int_equal(w.p.t.items.n, 1);
		assert_string_equal(found(&w, 0)->check, rows[i].check);
		assert_int_equal(found(&w, 0)->status, rows[i].status);
		if (rows[i].message) {
			assert_string_equal(found(&w, 0)->host, "n3");
			assert_string_equal(found(&w, 0)->message, rows[i].message);
			assert_int_equal(found(&w, 0)->fix.n, 1);
		}
		world_done(&w);
	}
}

/* Of two hosts neither is the odd one; which port is down is told all the same. */
static void t_rdma_of_two(void **state)
{
	static const char *const facts[] = {"{\"rdma_ports\":8}",
					    "{\"rdma_ports\":7,\"rdma_down\":\"mlx5_4: DOWN\"}"};
	struct world w;

	(void)state;
	drift(&w, facts, ARRAY_LEN(facts));
	assert_int_equal(w.p.t.items.n, 1);
	assert_int_equal(found(&w, 0)->status, ST_WARN);
	assert_string_equal(found(&w, 0)->message, "8 on n0; 7 (mlx5_4: DOWN) on n1");
	world_done(&w);
}

/* A host of GPUs that has none of the others' cards; one without GPUs needs none. */
static void t_no_rdma(void **state)
{
	static const char all[] = "{\"gpus\":8,\"rdma_ports\":8}";
	static const char *const bare[] = {all, all, "{\"gpus\":8}"};
	static const char *const head[] = {all, all, "{\"gpus\":0}"};
	struct world w;

	(void)state;
	drift_whole(&w, bare, ARRAY_LEN(bare));
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->check, "drift.rdma_ports");
	assert_string_equal(found(&w, 0)->message, "none here, 8 on 2 of 3 hosts");
	assert_non_null(strstr(found(&w, 0)->fix.v[0], "modprobe mlx5_ib"));
	world_done(&w);
	drift_whole(&w, head, ARRAY_LEN(head));
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->check, "drift.gpus");
	world_done(&w);
}

/* Which is better does not depend on how many have it: those that have less, or the worse, are
 * named, and what they type is for them. */
static void t_most_are_worse(void **state)
{
	static const struct {
		const char *most, *odd, *message, *fix;
	} rows[] = {
		{"\"memlock\":\"65536\"", "\"memlock\":\"8388608\"",
		 "65536 here, 8388608 on 1 of 4 hosts", "\"$u - memlock 8192\""},
		{"\"nofile\":\"4096\"", "\"nofile\":\"unlimited\"",
		 "4096 here, unlimited on 1 of 4 hosts", "\"$u - nofile 1048576\""},
		{"\"cpus_usable\":4,\"cpus\":64", "\"cpus_usable\":64,\"cpus\":64",
		 "4 here, 64 on 1 of 4 hosts", "--cpus-per-task=64"},
		{"\"congestion\":\"bbr\"", "\"congestion\":\"reno\"",
		 "bbr here, reno on 1 of 4 hosts", "control=reno"},
		{"\"numa_balancing\":\"1\"", "\"numa_balancing\":\"0\"",
		 "1 here, 0 on 1 of 4 hosts", "numa_balancing=0"},
		{"\"ecc\":\"off\"", "\"ecc\":\"on\"", "off here, on on 1 of 4 hosts", "-e 1"},
		{"\"mig\":\"on\"", "\"mig\":\"off\"", "on here, off on 1 of 4 hosts", "-mig 0"},
		{"\"gpudirect\":\"none\"", "\"gpudirect\":\"nvidia_peermem\"",
		 "none here, nvidia_peermem on 1 of 4 hosts", "modprobe nvidia-peermem"},
	};
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena a = {0};
		const char *most = arena_printf(&a, "{%s}", rows[i].most);
		const char *odd = arena_printf(&a, "{%s}", rows[i].odd);
		const char *const few[] = {most, most, odd, most}, *const many[] = {odd, odd, most};

		drift(&w, few, ARRAY_LEN(few));
		assert_int_equal(w.p.t.items.n, 3);
		assert_string_equal(found(&w, 2)->host, "n3");
		assert_string_equal(found(&w, 2)->message, rows[i].message);
		assert_non_null(strstr(found(&w, 2)->expected, ", as on n2"));
		assert_non_null(strstr(found(&w, 2)->fix.v[0], rows[i].fix));
		world_done(&w);
		drift(&w, many, ARRAY_LEN(many));
		assert_int_equal(w.p.t.items.n, 1);
		assert_string_equal(found(&w, 0)->host, "n2");
		assert_non_null(strstr(found(&w, 0)->fix.v[0], rows[i].fix));
		world_done(&w);
		arena_done(&a);
	}
}

/* Another machine than the others: it has lost nothing, and needs no other start. */
static void t_more_than_the_others(void **state)
{
	static const char *const rows[][2] = {
		{"gpus", "lspci | grep -i nvidia   # the others have 4"},
		{"rdma_ports", "# the others have 4: is one of theirs"},
		{"efa", "4; launch them as this one was"}};
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char four[32], eight[32];
		const char *const facts[] = {four, four, eight, four};

		(void)snprintf(four, sizeof(four), "{\"%s\":4}", rows[i][0]);
		(void)snprintf(eight, sizeof(eight), "{\"%s\":8}", rows[i][0]);
		drift(&w, facts, ARRAY_LEN(facts));
		assert_int_equal(w.p.t.items.n, 1);
		assert_int_equal(found(&w, 0)->status, ST_WARN);
		assert_string_equal(found(&w, 0)->host, "n2");
		assert_non_null(strstr(found(&w, 0)->fix.v[0], rows[i][1]));
		world_done(&w);
	}
}

static void t_numa_balancing(void **state)
{
	static const char *const facts[] = {"{\"numa_balancing\":\"0\"}",
					    "{\"numa_balancing\":\"1\"}",
					    "{\"numa_balancing\":\"0\"}"};
	struct world w;

	(void)state;
	drift(&w, facts, ARRAY_LEN(facts));
	assert_int_equal(w.p.t.items.n, 1);
	assert_string_equal(found(&w, 0)->check, "drift.numa_balancing");
	assert_int_equal(found(&w, 0)->status, ST_WARN);
	assert_string_equal(found(&w, 0)->host, "n1");
	assert_string_equal(found(&w, 0)->fix.v[0], "sudo sysctl -w kernel.numa_balancing=0");
	world_done(&w);
}

/* Lines that somebody types hold nothing of another host's that a shell takes for a command. */
static void t_typed(void **state)
{
	static const struct {
		const char *key, *usual, *fix;
	} cases[] = {
		{"congestion", "cubic", "sudo sysctl -w net.ipv4.tcp_congestion_control=cubic"},
		{"congestion", "cubic;touch x",
		 "sudo sysctl -w net.ipv4.tcp_congestion_control=VALUE"},
		{"tcp_rmem", "4096 131072 6291456",
		 "sudo sysctl -w net.ipv4.tcp_rmem='4096 131072 6291456'"},
		{"torch", "2.3.0+cu121", "pip install 'torch==2.3.0+cu121'"},
		{"torch", "2' x '", "pip install 'torch==VALUE'"},
		{"rdma_fw", "28.39.1002 (MT_0000000838)",
		 "sudo mlxfwmanager --query   # the others: 28.39.1002 (MT_0000000838)"},
		{"power_limit", "700 W", "sudo nvidia-smi -pl 700   # in watts"},
		{"kernel", "6.1\\nreboot", "uname -r   # the others have VALUE"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char usual[128], odd[128];
		const char *const facts[] = {usual, usual, odd};
		struct world w;

		(void)snprintf(usual, sizeof(usual), "{\"%s\":\"%s\"}", cases[i].key,
			       cases[i].usual);
		(void)snprintf(odd, sizeof(odd), "{\"%s\":\"another\"}", cases[i].key);
		world_init(&w, facts, 3);
		preflight_drift(&w.p, &w.all, 0, 1e12);
		assert_string_equal(found(&w, 0)->fix.v[0], cases[i].fix);
		world_done(&w);
	}
}

/* Where a job meets is an address, or it is not proposed. */
static void t_address(void **state)
{
	static const char *const facts[] = {"{}"};
	static const char *const cases[][2] = {{"192.0.2.2", "192.0.2.2"},
					       {"fd00::1", "fd00::1"},
					       {"192.0.2.2;touch x", NULL},
					       {"$(reboot)", NULL}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct world w;
		cJSON *at;
		const char *got;

		world_init(&w, facts, 1);
		at = json_object(json_object(json_object(w.all.v[0].doc, "parts"), "interface"),
				 "suggest");
		json_str(at, "address", cases[i][0]);
		got = answer_address(&w.all.v[0]);
		assert_string_equal(got ? got : "none", cases[i][1] ? cases[i][1] : "none");
		world_done(&w);
	}
}

/* All that the others have, and no more than there is, in whole numbers. */
static void t_memory_typed(void **state)
{
	static const struct {
		const char *bytes, *typed;
	} rows[] = {{"1622424616960", "1511G"}, /* shown as 1.5 TiB */
		    {"2161441767424", "2012G"}, /* half a MiB less than 2013 GiB */
		    {"500095000000", "465G"},
		    {"536870912", "512M"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena a = {0};
		struct world w;
		const char *const most =
			arena_printf(&a, "{\"memory\":8e12,\"memory_usable\":%s}", rows[i].bytes);
		const char *const facts[] = {most, "{\"memory\":8e12,\"memory_usable\":64e6}",
					     most};

		drift(&w, facts, ARRAY_LEN(facts));
		assert_string_equal(found(&w, 0)->check, "drift.memory_usable");
		assert_true(starts_with(found(&w, 0)->fix.v[0],
					arena_printf(&a, "srun --mem=%s ... ", rows[i].typed)));
		world_done(&w);
		arena_done(&a);
	}
}

/* NCCL's package has the CUDA of its torch in its name. */
static void t_nccl_of_cuda(void **state)
{
#define TWO_28 "\"nccl\":\"2.28.9\""
	static const struct {
		const char *most, *typed;
	} rows[] = {
		{"{" TWO_28 "}", "pip install nvidia-nccl-cu12==2.28.9 "},
		{"{" TWO_28 ",\"torch_cuda\":\"12.8\"}", "pip install nvidia-nccl-cu12==2.28.9 "},
		{"{" TWO_28 ",\"torch_cuda\":\"13.0\"}", "pip install nvidia-nccl-cu13==2.28.9 "},
		{"{" TWO_28 ",\"torch_cuda\":\"$(reboot)\"}",
		 "pip install nvidia-nccl-cu12==2.28.9 "},
		{"{\"nccl\":\"2$(reboot)\"}", "pip install nvidia-nccl-cu12==VALUE "}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *const facts[] = {rows[i].most, "{\"nccl\":\"2.20.5\"}", rows[i].most};
		struct world w;

		drift(&w, facts, ARRAY_LEN(facts));
		assert_string_equal(found(&w, 0)->check, "drift.nccl");
		assert_true(starts_with(found(&w, 0)->fix.v[0], rows[i].typed));
		world_done(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_memory_typed),
		cmocka_unit_test(t_nccl_of_cuda),
		cmocka_unit_test(t_typed),
		cmocka_unit_test(t_address),
		cmocka_unit_test(t_no_number),
		cmocka_unit_test(t_limits_about_alike),
		cmocka_unit_test(t_none_here),
		cmocka_unit_test(t_only_there),
		cmocka_unit_test(t_head_node),
		cmocka_unit_test(t_rdma),
		cmocka_unit_test(t_rdma_of_two),
		cmocka_unit_test(t_no_rdma),
		cmocka_unit_test(t_numa_balancing),
		cmocka_unit_test(t_most_are_worse),
		cmocka_unit_test(t_more_than_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
