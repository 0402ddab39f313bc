#include "bench/sweep/expect.h"

#include <math.h>

static const struct {
	const char *gpu;
	double nvlink; /* GB/s, one direction, all links */
	const char *generation;
} gpus[] = {
	{"GB300", 900, "NVLink 5"}, {"GB200", 900, "NVLink 5"},	    {"B300", 900, "NVLink 5"},
	{"B200", 900, "NVLink 5"},  {"H200", 450, "NVLink 4"},	    {"H800", 200, "NVLink 4, cut"},
	{"H100", 450, "NVLink 4"},  {"A800", 200, "NVLink 3, cut"}, {"A100", 300, "NVLink 3"},
	{"V100", 150, "NVLink 2"},  {"P100", 80, "NVLink 1"},
};

static const struct {
	const char *prefix;
	int cards;
	double gbps;
} instances[] = {
	{"p4d.", 4, 100},
	{"p4de.", 4, 100},
	{"p5.48", 32, 100},
	{"p5e.", 32, 100},
	{"p5en.", 16, 200},
	{"p6-b200.", 8, 400},
	{"p6-b300.", 16, 400},
	{"a3-highgpu", 4, 200},
	{"a3-megagpu", 8, 200},
	{"Standard_ND96isr", 8, 400},
	{"Standard_ND96amsr", 8, 200},
};

double expect_reached(uint64_t bytes)
{
	/* a healthy fabric of 400 Gb/s cards: 12 % at 16 MiB, 38 at 128, 63 at 512, 70 at 1 GiB */
	static const struct {
		double log2_bytes, share;
	} known[] = {{20, 0.01}, {24, 0.18}, {27, 0.53}, {29, 0.86}, {30, 0.94}, {32, 1}};
	double x = log2((double)(bytes ? bytes : 1));

	if (x <= known[0].log2_bytes)
		return known[0].share;
	for (size_t i = 1; i < ARRAY_LEN(known); i++) {
		double from = known[i - 1].log2_bytes, to = known[i].log2_bytes;

		if (x <= to)
			return known[i - 1].share +
			       (known[i].share - known[i - 1].share) * (x - from) / (to - from);
	}
	return 1;
}

static void nothing(struct expect *ret, const char *why)
{
	*ret = (struct expect){.busbw = NAN, .why = why};
}

static double node_gbps(const struct expect_facts *f, struct arena *a, const char **ret_why)
{
	for (size_t i = 0; f->instance && i < ARRAY_LEN(instances); i++)
		if (starts_with(f->instance, instances[i].prefix)) {
			*ret_why = arena_printf(a, "%s has %d network cards of %g Gb/s",
						f->instance, instances[i].cards, instances[i].gbps);
			return instances[i].cards * instances[i].gbps;
		}
	if (f->nic_gbps > 0)
		*ret_why = arena_printf(a, "each host's network cards do %g Gb/s", f->nic_gbps);
	return f->nic_gbps;
}

static void inside_one_host(const struct expect_facts *f, struct arena *a, struct expect *ret)
{
	for (size_t i = 0; f->gpu && i < ARRAY_LEN(gpus); i++) {
		if (!strstr(f->gpu, gpus[i].gpu))
			continue;
		if (strstr(f->gpu, "PCIe"))
			return nothing(ret, "a PCIe card: it depends on bridges and switches");
		*ret = (struct expect){
			.busbw = gpus[i].nvlink,
			.warn = 0.7,
			.fail = 0.5,
			.judged_from = 1ull << 30,
			.why = arena_printf(a,
					    "%s in one host: %s does %g GB/s each way; healthy "
					    "rings reach 78-82 %% of it, NVLink SHARP more",
					    gpus[i].gpu, gpus[i].generation, gpus[i].nvlink)};
		return;
	}
	nothing(ret, f->gpu ? "one host, and this GPU's links are not in the table"
			    : "one host without a GPU: it measures memory and processors");
}

void expect_derive(const struct expect_facts *f, struct arena *a, struct expect *ret)
{
	const char *cards = NULL;
	double node, busbw;
	int each;

	if (!streq(f->coll, "all_reduce"))
		return nothing(ret,
			       "only all_reduce is judged: the others depend on the algorithm");
	if (f->hosts < 2)
		return inside_one_host(f, a, ret);
	node = node_gbps(f, a, &cards) / 8;
	if (!(node > 0))
		return nothing(ret, "the speed of the network cards is not known");
	if (f->ranks % f->hosts)
		return nothing(ret, "hosts with different numbers of ranks");
	each = f->ranks / f->hosts;
	/* tcp: everybody trades with everybody; nccl: what stays inside a host is free */
	busbw = streq(f->backend, "tcp")
			? node * (f->ranks - 1) / ((double)each * (f->ranks - each))
			: node / each * (f->ranks - 1) / (f->hosts - 1);
	*ret = (struct expect){
		.busbw = busbw,
		.warn = 0.55,
		.fail = 0.38,
		.judged_from = streq(f->backend, "tcp") ? 16ull << 20 : 1ull << 30,
		.why = arena_printf(a,
				    "%s, %d rank%s on each of %d hosts: at most %.1f GB/s; healthy "
				    "clusters reach 59-86 %% of that",
				    cards, each, each > 1 ? "s" : "", f->hosts, busbw)};
}
