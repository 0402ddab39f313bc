/* NVIDIA's management library behind its table of symbols: the stand-in is asked in a child. */
#include "lib/core/aside.h"
#include "lib/core/units.h"
#include "lib/host/nvml.h"
#include "lib/host/nvml_abi.h"
#include "tests/unit/gpu_world.h"

#include <signal.h>

/* As nvml.h of CUDA 12.9 and 13.5 have them on 64-bit machines. */
static void t_abi(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct abi_pci), 68);
	assert_int_equal(sizeof(struct abi_memory), 24);
	assert_int_equal(sizeof(struct abi_process), 24);
	assert_int_equal(sizeof(struct abi_utilization), 8);
	assert_int_equal(sizeof(struct abi_fabric_old), 28);
	assert_int_equal(sizeof(struct abi_margin), 8);
	assert_int_equal(sizeof(struct abi_field), 40);
	assert_int_equal(offsetof(struct abi_fabric, summary), ABI_FABRIC_V2_BYTES);
	assert_int_equal(ABI_VERSION(ABI_FABRIC_V2_BYTES, 2), 0x02000024);
	assert_int_equal(ABI_VERSION(sizeof(struct abi_fabric), 3), 0x03000028);
}

static void ask(struct gpu_world *w, const char *words, uint64_t deadline_ns, struct nvml *ret)
{
	gpu_says(w, words, "");
	nvml_read(&w->c.a, deadline_ns, ret);
}

static void t_all_of_it(void **state)
{
	struct gpu_world w;
	struct nvml n;

	(void)state;
	gpu_make(&w, "host h\n");
	ask(&w, gpu_healthy, 20 * NS_PER_S, &n);
	assert_int_equal(n.answer, NVML_FINE);
	assert_int_equal(n.gpus.n, 8);
	assert_int_equal(n.cuda, 12040);
	assert_string_equal(n.driver, "550.54.15");
	assert_string_equal(n.gpus.v[1].pci, "0000:2a:00.0");
	assert_int_equal(n.gpus.v[1].memory_bytes, 85520809984);
	assert_int_equal(n.gpus.v[1].used_bytes, 600000000);
	assert_int_equal(n.gpus.v[1].pages_double, 0);
	assert_int_equal(n.gpus.v[1].slowdown_celsius, 87);
	assert_int_equal(n.gpus.v[1].shutdown_celsius, 92);
	assert_int_equal(n.gpus.v[1].celsius, 31);
	assert_int_equal(n.gpus.v[1].sm_mhz, 345);
	assert_int_equal(n.gpus.v[1].sm_max_mhz, 1980);
	assert_int_equal(n.gpus.v[1].links[17], 1);
	assert_int_equal(n.gpus.v[1].links[18], -1);
	assert_true(n.gpus.v[1].to_switch);
	gpu_done(&w);
}

static void t_unknown_is_not_zero(void **state)
{
	struct gpu_world w;
	struct nvml n;
	const struct nvml_gpu *g;

	(void)state;
	gpu_make(&w, "host h\n");
	ask(&w, "gpus 1\n", 20 * NS_PER_S, &n);
	assert_int_equal(n.answer, NVML_FINE);
	assert_int_equal(n.cuda, -1);
	assert_string_equal(n.driver, "");
	g = &n.gpus.v[0];
	assert_string_equal(g->name, "");
	assert_int_equal(g->memory_bytes, -1);
	assert_int_equal(g->ecc_uncorrected, -1);
	assert_int_equal(g->rows_pending, -1);
	assert_int_equal(g->pages_double, -1);
	assert_int_equal(g->reasons, -1);
	assert_int_equal(g->mig, -1);
	assert_int_equal(g->links[0], -1);
	assert_int_equal(g->fabric.state, -1);
	assert_int_equal(g->nprocesses, 0);
	gpu_done(&w);
}

static void t_users(void **state)
{
	static const char *const says[] = {"gpus 1\n0 processes 11:5000 12:6000 13:7000\n",
					   "gpus 1\n0 processes 11:5000 12:6000 13:7000\nlong 1\n"};
	struct gpu_world w;
	struct nvml n;

	(void)state;
	gpu_make(&w, "host h\n");
	for (size_t i = 0; i < ARRAY_LEN(says); i++) {
		const struct nvml_gpu *g;

		ask(&w, says[i], 20 * NS_PER_S, &n);
		g = &n.gpus.v[0];
		assert_int_equal(g->nprocesses, 3);
		for (int k = 0; k < 3; k++) {
			assert_int_equal(g->processes[k].pid, 11 + k);
			assert_int_equal(g->processes[k].bytes, 5000 + 1000 * k);
		}
	}
	gpu_done(&w);
}

/* What is asked of one GPU while it works. */
static void t_load(void **state)
{
	struct gpu_world w;
	struct nvml_load load;
	struct nvml n;

	(void)state;
	gpu_make(&w, "host h\n");
	ask(&w,
	    "gpus 2\n0 pci 00000000:18:00.0\n1 pci 00000000:2A:00.0\n1 reasons 0x40\n"
	    "1 clock 1200\n1 temperature 90\nhang 0\n",
	    NS_PER_S, &n);
	nvml_read_load("0000:2a:00.0", 20 * NS_PER_S, &load);
	assert_int_equal(load.reasons, 0x40);
	assert_int_equal(load.sm_mhz, 1200);
	assert_int_equal(load.celsius, 90);
	nvml_read_load("0000:18:00.0", 20 * NS_PER_S, &load);
	assert_int_equal(load.reasons, -1);
	gpu_done(&w);
}

/* Each library knows one newest form of the fabric's state. */
static void t_fabric_forms(void **state)
{
	static const struct {
		const char *words;
		int64_t health;
		int summary;
	} rows[] = {
		{"gpus 1\n0 fabric 3 0 00112233445566778899aabbccddeeff 5 aa 2\n", 0xaa, 2},
		{"gpus 1\n0 fabric 3 0 00112233445566778899aabbccddeeff 5 aa\n", 0xaa, -1},
		{"gpus 1\n0 fabric 3 0 00112233445566778899aabbccddeeff 5\n", -1, -1},
	};
	struct gpu_world w;
	struct nvml n;

	(void)state;
	gpu_make(&w, "host h\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct nvml_fabric *f;

		ask(&w, rows[i].words, 20 * NS_PER_S, &n);
		f = &n.gpus.v[0].fabric;
		assert_int_equal(f->state, NVML_FABRIC_COMPLETED);
		assert_string_equal(f->cluster, "00112233445566778899aabbccddeeff");
		assert_int_equal(f->clique, 5);
		assert_int_equal(f->status, 0);
		assert_int_equal(f->health, rows[i].health);
		assert_int_equal(f->summary, rows[i].summary);
	}
	gpu_done(&w);
}

/* What was said before it fell silent is kept. */
static void t_hangs(void **state)
{
	struct gpu_world w;
	struct nvml n;

	(void)state;
	gpu_make(&w, "host h\n");
	ask(&w, "gpus 4\n* name X\nhang 2\n", 3 * NS_PER_S, &n);
	assert_int_equal(n.answer, NVML_SILENT);
	assert_int_equal(n.stuck_at, 2);
	assert_int_equal(n.gpus.n, 2);
	assert_string_equal(n.gpus.v[1].name, "X");
	ask(&w, "gpus 4\nhang init\n", NS_PER_S / 10, &n);
	assert_int_equal(n.answer, NVML_SILENT);
	assert_int_equal(n.stuck_at, -1);
	ask(&w, "gpus 4\ncrash 1\n", 20 * NS_PER_S, &n);
	assert_int_equal(n.answer, NVML_CRASHED);
	assert_int_equal(n.gpus.n, 1);
	gpu_done(&w);
}

static void t_refuses(void **state)
{
	struct gpu_world w;
	struct nvml n;

	(void)state;
	gpu_make(&w, "host h\n");
	ask(&w, "init 18\n", 20 * NS_PER_S, &n);
	assert_int_equal(n.answer, NVML_REFUSED);
	assert_int_equal(n.error, NVML_MISMATCH);
	assert_string_equal(n.error_text, "Driver/library version mismatch");
	ask(&w, "gpus 2\n1 open 15\n", 20 * NS_PER_S, &n);
	assert_int_equal(n.answer, NVML_FINE);
	assert_int_equal(n.gpus.v[1].error, NVML_GPU_LOST);
	assert_string_equal(n.gpus.v[1].error_text, "GPU is lost");
	ask(&w, NULL, 20 * NS_PER_S, &n);
	assert_int_equal(n.answer, NVML_ABSENT);
	(void)unsetenv("WINDSOCK_NVML"); /* a recorded tree does not ask this machine's */
	nvml_read(&w.c.a, NS_PER_S, &n);
	assert_int_equal(n.answer, NVML_ABSENT);
	gpu_done(&w);
}

static void t_words(void **state)
{
	static const struct {
		int64_t mask;
		const char *text;
		bool severe;
	} health[] = {
		{-1, NULL, false},
		{0, NULL, false},
		{0xaa, NULL, false},
		{0xa9, "its bandwidth is degraded", true},
		{0xa6, "a route is being recovered", false},
		{0x99, "its bandwidth is degraded, a route is unhealthy", true},
		{0x1aa, NULL, false},
		{0x4aa, "wrong configuration (no partition)", true},
		{0x80aa, "it has lost the fabric manager", false},
	};
	struct arena a = {0};
	bool severe;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(health); i++) {
		const char *text = nvml_health_text(&a, health[i].mask, &severe);

		assert_true(!text == !health[i].text);
		if (text)
			assert_string_equal(text, health[i].text);
		assert_int_equal(severe, health[i].severe);
	}
	assert_null(nvml_slow_text(&a, NVML_SLOW_IDLE | NVML_SLOW_POWER_CAP | NVML_SLOW_SET));
	assert_null(nvml_slow_text(&a, -1));
	assert_non_null(nvml_slow_text(&a, NVML_SLOW_HARDWARE));
	arena_done(&a);
}

/* --- the child itself ------------------------------------------------------------- */

struct heard {
	size_t n, bytes;
};

static void hear(void *arg, const void *record, size_t n)
{
	struct heard *h = arg;

	assert_non_null(record);
	h->n++;
	h->bytes += n;
}

static void say_many(int to, void *arg)
{
	static char big[ASIDE_MAX];

	(void)arg;
	for (int i = 0; i < 40; i++)
		aside_say(to, big, i % 2 ? sizeof(big) : 1);
}
static void say_and_crash(int to, void *arg)
{
	(void)arg;
	aside_say(to, "x", 1);
	(void)raise(SIGKILL);
}
static void say_junk(int to, void *arg)
{
	(void)arg;
	(void)!write(to, "\xff\xff\xff\xff\xff", 5);
}
static void say_and_sleep(int to, void *arg)
{
	(void)arg;
	aside_say(to, "x", 1);
	for (;;)
		(void)pause();
}

static void t_aside(void **state)
{
	static const struct {
		void (*work)(int to, void *arg);
		uint64_t deadline_ns;
		enum aside_end end;
		size_t n;
	} rows[] = {
		{say_many, 20 * NS_PER_S, ASIDE_DONE, 40},
		{say_and_crash, 20 * NS_PER_S, ASIDE_DIED, 1},
		{say_junk, 20 * NS_PER_S, ASIDE_DIED, 0},
		{say_and_sleep, 2 * NS_PER_S, ASIDE_SILENT, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct heard h = {0};
		struct aside s = {.work = rows[i].work,
				  .take = hear,
				  .arg = &h,
				  .deadline_ns = rows[i].deadline_ns};

		assert_int_equal(aside_run(&s), rows[i].end);
		assert_int_equal(h.n, rows[i].n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_abi),
		cmocka_unit_test(t_all_of_it),
		cmocka_unit_test(t_unknown_is_not_zero),
		cmocka_unit_test(t_users),
		cmocka_unit_test(t_load),
		cmocka_unit_test(t_fabric_forms),
		cmocka_unit_test(t_hangs),
		cmocka_unit_test(t_refuses),
		cmocka_unit_test(t_words),
		cmocka_unit_test(t_aside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
