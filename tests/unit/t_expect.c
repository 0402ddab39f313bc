/* What speed ncclbench expects of hardware, and where it expects none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/sweep/expect.h"
#include "bench/sweep/expect_gpu.h"

#include <math.h>

static void expectations_meet_what_was_measured(void **state)
{
	static const struct {
		struct expect_facts f;
		double measured, low, high; /* healthy: its share of what is possible */
	} cases[] = {
		{{"nccl", "all_reduce", "NVIDIA A100-SXM4-80GB", NULL, 8, 1, NAN, 0, 0, false, 0},
		 234,
		 0.75,
		 0.82},
		{{"nccl", "all_reduce", "NVIDIA H100 80GB HBM3", NULL, 8, 1, NAN, 0, 0, false, 0},
		 367,
		 0.78,
		 0.85},
		{{"nccl", "all_reduce", "NVIDIA H100 80GB HBM3", NULL, 4, 1, NAN, 0, 8, false, 0},
		 360,
		 0.78,
		 0.85},
		{{"nccl", "all_reduce", "NVIDIA A100-SXM4-80GB", NULL, 4, 1, NAN, 0, 4, false, 0},
		 230,
		 0.75,
		 0.82},
		{{"nccl", "all_reduce", NULL, "p4de.24xlarge", 16, 2, NAN, 0, 0, false, 0},
		 78.3,
		 0.8,
		 0.88},
		{{"nccl", "all_reduce", NULL, "p5.48xlarge", 16, 2, NAN, 0, 0, false, 0},
		 487,
		 1.2,
		 1.25},
		{{"nccl", "all_reduce", NULL, "p6-b200.48xlarge", 32, 4, NAN, 0, 0, false, 0},
		 377,
		 0.9,
		 0.96},
		{{"tcp", "all_reduce", NULL, NULL, 2, 2, 10, 0, 0, false, 0}, 1.17, 0.9, 0.95},
		{{"tcp", "all_reduce", NULL, NULL, 4, 2, 10, 0, 0, false, 0}, 1.1, 1.1, 1.2},
	};
	AUTO(arena_done) struct arena a = {0};
	struct expect x;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		double share;

		expect_derive(&cases[i].f, &a, &x);
		share = cases[i].measured / x.asked;
		if (!(share > cases[i].low && share < cases[i].high))
			fail_msg("case %zu: %g of %g (%s)", i, share, x.busbw, x.why);
		assert_true(share > x.warn && x.warn > x.fail);
	}
}

/*
 * What was published of healthy clusters passes, and half of it, as with every other card gone,
 * does not; nor does what is left without RDMA. Sizes of 1 GiB are asked for less.
 */
static void what_was_published_passes_and_half_of_it_does_not(void **state)
{
	static const char a100[] = "NVIDIA A100-SXM4-80GB", h100[] = "NVIDIA H100 80GB HBM3",
			  b200[] = "NVIDIA B200", b300[] = "NVIDIA B300 SXM6 AC";
	static const struct {
		struct expect_facts f;
		double healthy;
		uint64_t bytes;
	} cases[] = {
		{{"nccl", "all_reduce", a100, "p4d.24xlarge", 16, 2, NAN, 0, 8, false, 0},
		 57,
		 1ull << 30},
		{{"nccl", "all_reduce", a100, "p4de.24xlarge", 16, 2, NAN, 0, 8, false, 0},
		 76.8,
		 1ull << 30},
		{{"nccl", "all_reduce", a100, "p4de.24xlarge", 16, 2, NAN, 0, 8, false, 0},
		 78.3,
		 1ull << 31},
		{{"nccl", "all_reduce", h100, "p5.48xlarge", 16, 2, NAN, 0, 8, false, 0},
		 437,
		 1ull << 30},
		{{"nccl", "all_reduce", h100, "p5.48xlarge", 16, 2, NAN, 0, 8, false, 0},
		 487,
		 1ull << 34},
		{{"nccl", "all_reduce", b200, "p6-b200.48xlarge", 32, 4, NAN, 0, 8, false, 0},
		 362,
		 1ull << 30},
		{{"nccl", "all_reduce", b200, "p6-b200.48xlarge", 32, 4, NAN, 0, 8, false, 0},
		 382,
		 1ull << 34},
		{{"nccl", "all_reduce", h100, NULL, 64, 8, 3200, 0, 8, false, 0}, 380, 1ull << 33},
		{{"nccl", "all_reduce", a100, NULL, 16, 2, 1600, 0, 8, false, 0}, 192, 1ull << 33},
		{{"nccl", "all_reduce", a100, NULL, 16, 2, 1600, 0, 8, false, 0}, 185, 1ull << 33},
		{{"nccl", "all_reduce", h100, NULL, 16, 2, 3200, 0, 8, false, 0}, 365, 1ull << 33},
		{{"nccl", "all_reduce", h100, "a3-megagpu-8g", 16, 2, NAN, 0, 8, false, 0},
		 126,
		 1ull << 33},
		/* which GPU it is nobody says */
		{{"nccl", "all_reduce", NULL, NULL, 16, 2, 3200, 0, 0, false, 0}, 365, 1ull << 33},
		{{"nccl", "all_reduce", b300, NULL, 16, 2, 6400, 0, 8, false, 0}, 720, 1ull << 33},
	};
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const double found[] = {cases[i].healthy, cases[i].healthy / 2, 4};
		struct expect x;

		expect_derive(&cases[i].f, &a, &x);
		assert_null(expect_doubt(&x, cases[i].healthy, &a));
		for (size_t k = 0; k < ARRAY_LEN(found); k++) {
			double share = found[k] / (x.asked * expect_share(&x, cases[i].bytes));

			if (k == 0 ? share < x.warn : share >= (k == 1 ? x.warn : x.fail))
				fail_msg("case %zu: %g are %g of %s (%s)", i, found[k], share,
					 expect_word(&x), x.why);
		}
	}
}

/*
 * A ramp of its own for each fabric: of cards that do 10 Gb/s all is asked long before 1 GiB, of
 * eight that do 400 nothing below 64 MiB. Latencies are those of NCCL over sockets, 50 us for each
 * host that a ring passes, and healthy: 90 % of the rate.
 */
static void slow_fabrics_are_asked_for_all_of_it_early(void **state)
{
	static const struct {
		double nic_gbps;
		int hosts;
		double sick; /* GB/s: of these, at 128 MiB, nothing is said but that they are few */
	} cases[] = {{1, 2, 0.04},  {10, 2, 0.37},  {25, 2, 1.0},    {100, 2, 3.5},  {10, 8, 0.37},
		     {10, 64, 0.3}, {25, 64, 0.75}, {10, 512, 0.05}, {1, 1024, 0.01}};
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct expect_facts f = {.backend = "nccl",
					 .coll = "all_reduce",
					 .ranks = cases[i].hosts,
					 .hosts = cases[i].hosts,
					 .nic_gbps = cases[i].nic_gbps};
		double rate = 0.9 * f.nic_gbps / 8 * 1e9, steps = 2. * (f.hosts - 1), busbw;
		struct expect x;

		expect_derive(&f, &a, &x);
		for (uint64_t b = 1 << 20; b <= 8ull << 30; b *= 2) {
			double moved = (double)b * steps / f.hosts;
			double share = expect_share(&x, b);

			busbw = moved / (steps * 50e-6 + moved / rate) / 1e9;
			if (share > 0 && busbw / (x.asked * share) < x.warn)
				fail_msg("%g Gb/s, %d hosts, %ju bytes: %g of %g", f.nic_gbps,
					 f.hosts, (uintmax_t)b, busbw, x.asked * share);
		}
		assert_true(cases[i].sick / (x.asked * expect_share(&x, 128 << 20)) < x.fail);
		assert_true(expect_share(&x, 32 << 20) > 0 || f.hosts > 64);
	}
}

/* What was published of sizes that are not the largest. */
static void sizes_on_the_way_pass_too(void **state)
{
	static const char a100[] = "NVIDIA A100-SXM4-80GB", h100[] = "NVIDIA H100 80GB HBM3";
	static const struct {
		struct expect_facts f;
		uint64_t mib;
		double healthy;
	} cases[] = {
		{{"nccl", "all_reduce", a100, "p4de.24xlarge", 16, 2, NAN, 0, 8, false, 0},
		 128,
		 64.3},
		{{"nccl", "all_reduce", h100, "p5.48xlarge", 16, 2, NAN, 0, 8, false, 0}, 128, 289},
		{{"nccl", "all_reduce", NULL, "p6-b200.48xlarge", 32, 4, NAN, 0, 8, false, 0},
		 128,
		 197},
		/* one card of 25 Gb/s, and one of 400, in each of two hosts */
		{{"nccl", "all_reduce", NULL, NULL, 2, 2, 25, 0, 1, false, 0}, 64, 3.06},
		{{"nccl", "all_reduce", h100, NULL, 2, 2, 400, 0, 8, false, 0}, 16, 39.9},
		{{"nccl", "all_reduce", h100, NULL, 2, 2, 400, 0, 8, false, 0}, 32, 41.3},
	};
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct expect x;
		double share;

		expect_derive(&cases[i].f, &a, &x);
		share = expect_share(&x, cases[i].mib << 20);
		if (share > 0 && cases[i].healthy / (x.asked * share) < x.warn)
			fail_msg("case %zu: %g of %g", i, cases[i].healthy, x.asked * share);
	}
}

/* Gloo and MPI in host memory: 1.2 GB/s is what a thread of theirs does on any card. */
static void host_memory_is_asked_for_what_a_thread_does(void **state)
{
	static const char *const backends[] = {"gloo", "mpi"};
	AUTO(arena_done) struct arena a = {0};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct expect_facts f = {.backend = backends[i / 2],
					 .coll = "all_reduce",
					 .ranks = i % 2 ? 16 : 2,
					 .hosts = 2,
					 .nic_gbps = 100};
		struct expect x;

		expect_derive(&f, &a, &x);
		assert_true(x.asked == 1.25 && expect_share(&x, 256 << 20) == 1);
		assert_non_null(strstr(x.why, "of a rank, one thread, 10 Gb/s are asked"));
		assert_null(expect_doubt(&x, 11, &a));
		f.nic_gbps = 1;
		expect_derive(&f, &a, &x);
		assert_true(x.asked == 0.125 && expect_doubt(&x, 1.2, &a));
	}
}

/* The lower of what the cloud grants and what the card reports, and never more than TCP can. */
static void instances_grant(void **state)
{
	static const struct {
		struct expect_facts f;
		double busbw; /* 0: none */
		const char *why;
	} cases[] = {
		{{"tcp", "all_reduce", NULL, "g5.2xlarge", 2, 2, NAN, 4, 0, false, 0},
		 0.625,
		 "g5.2xlarge has 5 Gb/s at all times (its card reports no speed)"},
		{{"tcp", "all_reduce", NULL, "g5.2xlarge", 2, 2, 25, 4, 0, false, 0},
		 0.625,
		 "g5.2xlarge has 5 Gb/s at all times, 1 rank"},
		{{"tcp", "all_reduce", NULL, "g5.2xlarge", 2, 2, 1, 4, 0, false, 0},
		 0.125,
		 "cards do 1 Gb/s, less than g5.2xlarge has 5"},
		{{"tcp", "all_reduce", NULL, "c6i.8xlarge", 2, 2, NAN, 1, 0, false, 0},
		 0.625,
		 "that 1 flow may use 5 Gb/s each (more inside a cluster placement group)"},
		{{"tcp", "all_reduce", NULL, "p4d.24xlarge", 2, 2, NAN, 4, 0, false, 0},
		 1.25,
		 "TCP uses one: 100 Gb/s; of that 4 flows may use 5 Gb/s each (more inside a "
		 "cluster placement group); of a rank, one thread, 10 are asked"},
		{{"tcp", "all_reduce", NULL, "t3.large", 4, 4, NAN, 4, 0, false, 0},
		 0.064,
		 "t3.large has 0.512 Gb/s"},
		{{"tcp", "all_reduce", NULL, NULL, 2, 2, 400, 4, 0, false, 0},
		 1.25,
		 "one thread, 10 are asked"},
		{{"nccl", "all_reduce", NULL, "p4d.24xlarge", 16, 2, 100, 0, 0, false, 0},
		 93.75,
		 "4 network cards of 100 Gb/s"},
		{{"nccl", "all_reduce", NULL, "a3-megagpu-8g", 16, 2, NAN, 0, 0, false, 0},
		 375,
		 "8 network cards of 200 Gb/s"},
		{{"tcp", "all_reduce", NULL, "m1.small", 2, 2, NAN, 4, 0, false, 0},
		 0,
		 "m1.small is not in the table"},
		{{"tcp", "all_reduce", NULL, "g5.5", 2, 2, NAN, 4, 0, false, 0},
		 0,
		 "not in the table"},
		{{"tcp", "all_reduce", NULL, "g5.", 2, 2, NAN, 4, 0, false, 0},
		 0,
		 "not in the table"},
		{{"tcp", "all_reduce", NULL, "g5", 2, 2, NAN, 4, 0, false, 0},
		 0,
		 "not in the table"},
		{{"tcp", "all_reduce", NULL, ".xlarge", 2, 2, NAN, 4, 0, false, 0},
		 0,
		 "not in the table"},
		{{"tcp", "all_reduce", NULL, "g5.xlarg", 2, 2, NAN, 4, 0, false, 0},
		 0,
		 "not in the table"},
	};
	AUTO(arena_done) struct arena a = {0};
	struct expect x;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		expect_derive(&cases[i].f, &a, &x);
		if (!strstr(x.why, cases[i].why))
			fail_msg("case %zu: %s", i, x.why);
		if (cases[i].busbw > 0 ? !(fabs(x.busbw / cases[i].busbw - 1) < 1e-6)
				       : !isnan(x.busbw))
			fail_msg("case %zu: %g (%s)", i, x.busbw, x.why);
	}
}

/* Of GPUs whose NVLink may reach other hosts it has to be known whether it does. */
static void nvlink_may_join_hosts(void **state)
{
	struct expect_facts f = {
		"nccl", "all_reduce", "NVIDIA GB200", NULL, 72, 18, 1600, 0, 4, false, 0};
	AUTO(arena_done) struct arena a = {0};
	struct expect x;

	(void)state;
	f.joined = JOINED_BY_NVLINK;
	expect_derive(&f, &a, &x);
	assert_true(x.asked == 900 && 840 / x.asked > x.warn && 200 / x.asked < x.fail);
	assert_null(expect_doubt(&x, 847, &a));
	f.joined = JOINED_BY_CARDS;
	expect_derive(&f, &a, &x);
	assert_true(x.asked < 210 && expect_doubt(&x, 840, &a));
	f.joined = JOINED_UNKNOWN;
	expect_derive(&f, &a, &x);
	assert_true(isnan(x.asked) && strstr(x.why, "NVLink 5 does 900 GB/s each way; if not: ") &&
		    strstr(x.why, "209 GB/s"));
	f.gpu = "NVIDIA B200"; /* ends at its host */
	expect_derive(&f, &a, &x);
	assert_true(isfinite(x.asked));
}

/* As their drivers name them: one model is sold in many forms, and others begin with its name. */
static void names_tell_a_card_from_a_board(void **state)
{
	static const struct {
		const char *name;
		double nvlink;
		int pcie, lanes; /* no lanes: it is not in the table */
	} cases[] = {
		{"A100", 300, 4, 16},
		{"NVIDIA A100-SXM4-40GB", 300, 4, 16},
		{"NVIDIA A100-SXM-64GB", 300, 4, 16},
		{"NVIDIA A100-PCIE-40GB", 0, 4, 16},
		{"NVIDIA A100 80GB PCIe", 0, 4, 16},
		{"NVIDIA A100-40C", 0, 0, 16},
		{"GRID A100-4-20C", 0, 0, 16},
		{"NVIDIA A100X", 0, 0, 0},
		{"NVIDIA RTX A1000", 0, 0, 0},
		{"NVIDIA RTX A4000", 0, 0, 0},
		{"NVIDIA A800-SXM4-80GB", 200, 4, 16},
		{"NVIDIA A800 40GB Active", 0, 4, 16},
		{"Tesla V100-SXM3-32GB", 150, 3, 16},
		{"Tesla V100-DGXS-32GB", 150, 3, 16},
		{"Tesla V100-FHHL-16GB", 0, 3, 16},
		{"Tesla P100-SXM2-16GB", 80, 3, 16},
		{"Quadro P1000", 0, 0, 0},
		{"Quadro GP100", 0, 0, 0},
		{"NVIDIA H100 80GB HBM3", 450, 5, 16},
		{"NVIDIA H100 NVL", 0, 5, 16},
		{"NVIDIA H100-80C", 0, 0, 16},
		{"NVIDIA H20-3e", 450, 5, 16},
		{"NVIDIA GH200 480GB", 450, 0, 16},
		{"NVIDIA GB200", 900, 0, 16},
		{"NVIDIA B300 SXM6 AC", 900, 0, 16},
		{"NVIDIA A10G", 0, 4, 16},
		{"NVIDIA L40S", 0, 4, 16},
		{"NVIDIA GeForce RTX 3090 Ti", 0, 4, 16},
		{"NVIDIA GeForce RTX 4060 Ti", 0, 4, 8},
		{"NVIDIA GeForce RTX 4090 Laptop GPU", 0, 0, 16},
	};
	struct expect_gpu g;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool is_known = expect_gpu(cases[i].name, &g);

		if (is_known != (cases[i].lanes > 0) ||
		    (is_known && (g.nvlink != cases[i].nvlink || g.pcie != cases[i].pcie ||
				  g.lanes != cases[i].lanes)))
			fail_msg("%s: %g, %d", cases[i].name, g.nvlink, g.pcie);
	}
}

static void what_cannot_be_derived_says_why(void **state)
{
	static const struct expect_facts facts[] = {
		{"tcp", "all_reduce", NULL, NULL, 2, 1, NAN, 0, 0, false, 0},
		{"nccl", "alltoall", "NVIDIA H100", NULL, 8, 1, NAN, 0, 0, false, 0},
		{"nccl", "all_reduce", "NVIDIA H100", NULL, 16, 2, NAN, 0, 0, false, 0},
		{"nccl", "all_reduce", "NVIDIA H100", NULL, 15, 2, 400, 0, 0, false, 0},
		/* 13 and 3 */
		{"nccl", "all_reduce", "NVIDIA H100", NULL, 16, 2, 400, 0, 0, true, 0},
		{"nccl", "all_reduce", "NVIDIA H100 PCIe", NULL, 2, 1, NAN, 0, 0, false, 0},
		{"nccl", "all_reduce", "NVIDIA H100 PCIe", NULL, 16, 2, 400, 0, 8, false, 0},
		{"nccl", "all_reduce", "NVIDIA L40S", NULL, 16, 2, 400, 0, 8, false, 0},
		{"nccl", "all_reduce", NULL, "g5.48xlarge", 16, 2, NAN, 0, 0, false, 0},
		{"nccl", "all_reduce", "NVIDIA H100 NVL", NULL, 2, 1, NAN, 0, 0, false, 0},
		{"nccl", "all_reduce", "NVIDIA A100-SXM4-40GB MIG 3g.20gb", NULL, 2, 1, NAN, 0, 0,
		 false, 0},
		{"nccl", "all_reduce", "NVIDIA H100 80GB HBM3", NULL, 1, 1, NAN, 0, 8, false, 0},
		/* two share only the links between them, unless there is a switch */
		{"nccl", "all_reduce", "NVIDIA A100-SXM4-80GB", NULL, 2, 1, NAN, 0, 4, false, 0},
		{"nccl", "all_reduce", "Tesla V100-SXM2-16GB", NULL, 4, 1, NAN, 0, 0, false, 0},
		/* all four of half a board: two of the six links of each lead to the other half */
		{"nccl", "all_reduce", "Tesla V100-SXM2-16GB", NULL, 4, 1, NAN, 0, 4, false, 0},
		{"nccl", "all_reduce", NULL, "p3.8xlarge", 4, 1, NAN, 0, 4, false, 0},
	};
	AUTO(arena_done) struct arena a = {0};
	struct expect x;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
		expect_derive(&facts[i], &a, &x);
		assert_true(isnan(x.busbw) && *x.why);
	}
	for (uint64_t b = 1; b < 1ull << 40; b *= 2)
		assert_true(expect_reached(b) > 0 && expect_reached(b) <= expect_reached(b * 2) &&
			    expect_reached(b) <= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expectations_meet_what_was_measured),
		cmocka_unit_test(what_was_published_passes_and_half_of_it_does_not),
		cmocka_unit_test(slow_fabrics_are_asked_for_all_of_it_early),
		cmocka_unit_test(sizes_on_the_way_pass_too),
		cmocka_unit_test(host_memory_is_asked_for_what_a_thread_does),
		cmocka_unit_test(instances_grant),
		cmocka_unit_test(nvlink_may_join_hosts),
		cmocka_unit_test(names_tell_a_card_from_a_board),
		cmocka_unit_test(what_cannot_be_derived_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
