#include "bench/sweep/expect.h"
#include "bench/sweep/saved.h"
#include "lib/core/units.h"

#include <math.h>

/* The first thing that goes wrong with mpirun: every process is a world of its own. */
static bool judge_world(const struct saved *s, struct report *r)
{
	struct finding *f = report_find(r, "world.size", NULL);
	bool alone = s->ranks == 1;

	if (s->tables > 1 && alone) {
		finding_set(f, ST_FAIL,
			    "%d tables with one rank each: %d worlds of 1 were started, not one of "
			    "%d; nothing between ranks was measured",
			    s->tables, s->tables, s->tables);
		finding_fix(f, "make MPI=1 MPI_HOME=...  # build nccl-tests with MPI, or:");
		finding_fix(f, "ncclbench --hosts HOSTS -b 8 -e 1G");
	} else if (alone) {
		finding_set(f, ST_FAIL, "a single rank: nothing between ranks was measured");
		finding_fix(f, "ncclbench --np 8 -b 8 -e 1G");
	} else if (s->ranks) {
		finding_set(f, ST_PASS, "%d ranks on %d host%s", s->ranks, s->hosts,
			    s->hosts == 1 ? "" : "s");
	} else {
		finding_set(f, ST_SKIP, "the list of devices is not in it");
	}
	report_add(r, f);
	return !alone;
}

static void judge_end(const struct saved *s, struct report *r)
{
	struct finding *f = report_find(r, "coll.data", s->coll);

	if (s->wrong > 0) {
		finding_set(f, ST_FAIL, "%.0f elements came out wrong", s->wrong);
		finding_fix(f,
			    "NCCL_P2P_DISABLE=1 ncclbench ...  # right then? ACS or IOMMU breaks "
			    "peer access");
	} else if (isnan(s->average)) {
		finding_set(f, ST_WARN,
			    "no element was wrong so far, but the run has no end: it was cut off "
			    "or hung");
	} else {
		finding_set(f, ST_PASS, "no element was wrong");
	}
	finding_expect(f, "no wrong element");
	report_add(r, f);
}

static struct plot_point best_of(const struct saved *s)
{
	struct plot_point best = s->run.points.v[0];

	for (size_t i = 0; i < s->run.points.n; i++)
		if (s->run.points.v[i].busbw > best.busbw)
			best = s->run.points.v[i];
	return best;
}

static void judge_speed(const struct saved *s, const struct expect *x, struct report *r)
{
	struct finding *f = report_find(r, "coll.bandwidth", s->coll);
	struct plot_point best = best_of(s);
	double reached = expect_reached((uint64_t)best.bytes);
	double share = best.busbw / (x->busbw * reached);
	struct unit_buf size;
	const char *at = format_size(&size, (uint64_t)best.bytes);

	finding_value(f, best.busbw, "GB/s");
	if (isnan(x->busbw)) {
		finding_set(f, ST_INFO, "up to %.2f GB/s at %s; not judged: %s", best.busbw, at,
			    x->why);
	} else if (best.bytes < 64 << 20) {
		finding_set(f, ST_INFO,
			    "up to %.2f GB/s at %s, the largest size: too small to "
			    "judge by (%s)",
			    best.busbw, at, x->why);
		finding_fix(f, "ncclbench -b 8 -e 8G");
	} else {
		finding_set(f,
			    share < x->fail   ? ST_FAIL
			    : share < x->warn ? ST_WARN
					      : ST_PASS,
			    "up to %.2f GB/s at %s, %.0f %% of what is possible at that size (%s)",
			    best.busbw, at, share * 100, x->why);
		finding_expect(f, ">= %.1f GB/s", x->busbw * reached * x->warn);
		if (share < x->warn)
			finding_fix(f, "NCCL_DEBUG=INFO ... 2>&1 | ncclwhy  # which transport, "
				       "which cards");
	}
	report_add(r, f);
}

void saved_judge(const struct saved *s, double nic_gbps, const char *instance, struct report *r)
{
	struct expect_facts f = {.backend = s->backend ? s->backend : "nccl",
				 .coll = s->coll ? s->coll : "all_reduce",
				 .gpu = s->gpu,
				 .instance = instance,
				 .ranks = s->ranks,
				 .hosts = s->hosts,
				 .nic_gbps = nic_gbps};
	struct expect x;

	if (!judge_world(s, r))
		return;
	judge_end(s, r);
	expect_derive(&f, report_arena(r), &x);
	judge_speed(s, &x, r);
	if (s->average > 0)
		report_remark(r,
			      "The average of %.2f GB/s is over all sizes, small ones included: "
			      "it says little about the hardware.",
			      s->average);
	report_covers(r, "a saved run; nothing was measured here");
}
