/* The speed of a sweep: what lasts of it, against what the hardware should do or somebody wants. */
#include "bench/comm/backend.h"
#include "bench/sweep/against.h"
#include "bench/sweep/expect_gpu.h"
#include "bench/sweep/instances.h"
#include "bench/sweep/table.h"
#include "bench/sweep/verdict.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <math.h>

/* The type that has least; of those in no table, the first. */
static const char *slowest_instance(const struct story *s)
{
	struct instance_net net, least = {.gbps = INFINITY};
	const char *found = NULL;

	for (size_t i = 0; i < s->ranks.n; i++) {
		const char *type = s->ranks.v[i].instance;

		if (instance_net(type, &net) && net.gbps < least.gbps) {
			least = net;
			found = type;
		} else if (!found) {
			found = type;
		}
	}
	return found;
}

static const char *gpu_of(const struct story *s)
{
	return s->ranks.n && strstr(s->ranks.v[0].device, "NVIDIA") ? s->ranks.v[0].device : NULL;
}

/*
 * All ranks are in one chain of connections. Where none of it took the network, what leads from
 * host to host is NVLink.
 */
static enum expect_joined joined(const struct story *s)
{
	struct expect_gpu g;

	if (!streq(s->backend, "nccl") || story_hosts(s) < 2 || !expect_gpu(gpu_of(s), &g) ||
	    !g.domain)
		return JOINED_UNKNOWN;
	if (strstr(s->transport, "NET/"))
		return s->ranks.n <= (size_t)g.domain ? JOINED_BY_CARDS : JOINED_UNKNOWN;
	return strstr(s->transport, "P2P (") ? JOINED_BY_NVLINK : JOINED_UNKNOWN;
}

void verdict_domain(const struct story *s)
{
	struct expect_gpu g;
	struct finding *f;

	if (joined(s) != JOINED_BY_CARDS || !expect_gpu(gpu_of(s), &g))
		return;
	f = report_find(s->r, "nccl.nvlink", NULL);
	finding_set(f, ST_WARN,
		    "NVLink between hosts is not used, which joins up to %d of these GPUs: NCCL "
		    "goes over the network cards",
		    g.domain);
	finding_expect(f, "P2P between hosts, unless they are of several racks");
	finding_fix(f, "sudo systemctl enable --now nvidia-imex   # on every host; nvidia-imex-ctl "
		       "-N says whether they see each other");
	verdict_add(s->r, f);
}

void verdict_average(const struct story *s)
{
	struct finding *f;

	if (!(s->o->least_average > 0))
		return;
	f = report_find(s->r, "coll.average", s->sweep.coll->name);
	finding_set(f, story_average_is_enough(s) ? ST_PASS : ST_FAIL,
		    "%.4g GB/s on average of all sizes, NCCL_TESTS_MIN_BW=%g", story_average(s),
		    s->o->least_average);
	finding_value(f, story_average(s), "GB/s");
	finding_expect(f, ">= %g GB/s, a tenth less than it says", story_least_average(s));
	if (f->status == ST_FAIL)
		again_sizes(f, &s->o->again, "-b 64M -e 1G",
			    "small sizes lower the average: how fast are large ones?");
	verdict_add(s->r, f);
}

static const char *why_not_alike(const struct story *s)
{
	const struct groups *g = &s->groups.g;

	if (g->members < g->size)
		return arena_printf(s->a, "%d of %d ranks are in no group", g->size - g->members,
				    g->size);
	return arena_printf(s->a, "%d groups at once, which are not alike", g->n);
}

static void derive_of_groups(const struct story *s, const struct expect_facts *f,
			     struct expect *ret)
{
	const struct groups *g = &s->groups.g;
	size_t hosts;

	if (groups_are_alike(g, &s->spread, s->a, &hosts) && !f->uneven)
		expect_derive_group(f, g->v[0].n, (int)hosts, g->n, s->a, ret);
	else
		*ret = (struct expect){.busbw = NAN, .why = why_not_alike(s)};
}

/* What the hardware should do, in data.expected too. */
static struct expect derive(const struct story *s)
{
	struct expect_facts f = {.backend = s->backend,
				 .coll = s->sweep.coll->name,
				 .instance = slowest_instance(s),
				 .ranks = (int)s->ranks.n,
				 .hosts = (int)story_hosts(s),
				 .gpus = s->ranks.n ? s->ranks.v[0].gpus : 0,
				 .gpu = gpu_of(s),
				 .uneven = s->spread.least != s->spread.most,
				 .joined = joined(s),
				 .nic_gbps = NAN};
	struct expect x;

	if (streq(s->backend, "tcp")) /* "4 sockets per pair of ranks, bbr" */
		f.sockets = (unsigned)strtoul(s->transport, NULL, 10);
	for (size_t i = 0; i < s->ranks.n; i++) /* the slowest card decides */
		f.nic_gbps = fmin(f.nic_gbps, s->ranks.v[i].nic_gbps);
	if (strstr(s->transport, COMM_SHARED_GPU)) /* by turns, and over sockets */
		x = (struct expect){.busbw = NAN, .why = COMM_SHARED_GPU};
	else if (s->groups.g.n)
		derive_of_groups(s, &f, &x);
	else
		expect_derive(&f, s->a, &x);
	if (report_wants_data(s->r)) {
		cJSON *o = json_object(report_data(s->r), "expected");

		json_num(o, "busbw", x.busbw);
		json_num(o, "asked", x.asked);
		json_str(o, "why", x.why);
		json_str(o, "instance", f.instance);
		json_num(o, "nic_gbps", f.nic_gbps);
	}
	return x;
}

static uint64_t largest_of(const struct story *s)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < s->rows.n; i++)
		if (coll_bytes(s->rows.v[i].row.c) > largest)
			largest = coll_bytes(s->rows.v[i].row.c);
	return largest;
}

/* Of two nobody can stand out. */
static void fix_slow_two(const struct story *s, struct finding *f)
{
	const uint64_t LARGE = 64 << 20;
	bool apart = story_hosts(s) > 1;

	if (largest_of(s) < LARGE)
		again_sizes(f, &s->o->again, "-b 64M -e 1G", "larger sizes reach more");
	else if (apart)
		again_fix(f, &s->o->again, "--pairs", "each direction by itself, and what is lost");
	else
		finding_fix(f, gpu_of(s) ? "nvidia-smi topo -m  # what joins the two"
					 : "uptime; top -b -n 1  # what else runs here?");
}

static void fix_slow(const struct story *s, struct finding *f)
{
	if ((f->status != ST_FAIL && f->status != ST_WARN) || f->fix.n)
		return;
	if (s->groups.g.n)
		again_fix(f, &s->o->again, "-b 64M -e 1G",
			  "of all ranks together, without --groups");
	else if (s->ranks.n <= 2)
		fix_slow_two(s, f);
	else if (story_hosts(s) < AT_ONCE_HOSTS)
		again_fix(f, &s->o->again, "--find-slow", "which node or link");
	else
		again_fix(f, &s->o->again, "--find-slow --together",
			  "which node or link, or what all of them share");
}

static struct lasting what_lasts(const struct story *s, const struct expect *x)
{
	struct lasting b = {0};
	uint64_t largest = largest_of(s);

	for (size_t i = 0; i < s->rows.n; i++) {
		const struct sweep_row *r = &s->rows.v[i].row;

		lasting_take(&b, x, largest, coll_bytes(r->c), sweep_row_busbw(r));
	}
	return b;
}

static struct against measured(const struct story *s, const struct expect *x,
			       const struct verdict_opts *o)
{
	const struct lasting best = what_lasts(s, x);
	const struct share asked = {true, o->expect_share};
	/* whoever lowers one means both */
	const struct share least = {true, fmin(x->fail, share_or(&o->warn, x->fail))};
	struct unit_buf size, rate;

	return (struct against){
		.what = arena_printf(s->a, "bus bandwidth %s GB/s at %s",
				     format_rate(&rate, best.busbw),
				     format_size(&size, best.bytes)),
		.but = lasting_burst(&best, s->a),
		.busbw = best.busbw,
		.bytes = best.bytes,
		.warn = o->expect_share > 0 ? asked : o->warn,
		.fail = o->expect_share > 0 ? asked
			: o->fail.given	    ? o->fail
					    : least,
		/* with --expect PERCENT, too: it would be one of the wrong number */
		.doubted = o->expect_share > 0 ? ST_WARN : ST_INFO,
	};
}

static void judge_against(struct finding *f, const struct expect *x, const struct against *m)
{
	if (against_say(f, x, m) == AGAINST_DOUBTED)
		finding_fix(f,
			    "ncclbench --expect %.3g  # with the same options: no less "
			    "than nearly what this run had",
			    m->busbw * 0.9);
}

/* What there was no time for. */
static void say_fitted(const struct story *s)
{
	const struct sweep_opts *o = &s->sweep;
	struct unit_buf time, size;

	if (s->fewer_from)
		table_note(s->r,
			   "So that all fits into %s (--within), sizes from %s on were measured "
			   "less often than %zu times.",
			   format_duration(&time, o->within_ns), format_size(&size, s->fewer_from),
			   (size_t)o->iters);
	if (s->timed_out && o->adaptive)
		table_note(s->r, "The time was up before larger sizes could show more.");
	else if (s->timed_out)
		table_note(s->r, "Larger sizes had no room within %s (--within) and were left out.",
			   format_duration(&time, o->within_ns));
}

/* ", latency 12.1 us", or "". */
static const char *latency(const struct story *s)
{
	double seconds = s->totals.best_latency;

	return seconds > 0 ? arena_printf(s->a, ", latency %.1f us", seconds * 1e6) : "";
}

/* One rank, or one in each group: what it has is no bus's bandwidth. */
static bool carries_nothing(const struct story *s)
{
	const struct groups *g = &s->groups.g;

	return g->n ? g->n == g->members : s->ranks.n == 1;
}

/* Then there is room for the latency. */
static void say_unjudged(const struct story *s, struct finding *f, const struct expect *x,
			 struct against m)
{
	m.what = arena_printf(s->a, "%s%s", m.what, latency(s));
	against_unjudged(f, x, &m);
}

/* What was asked for cannot be told: no word on the cluster. */
static void say_no_answer(const struct story *s, struct finding *f, const struct expect *x,
			  const struct verdict_opts *o)
{
	if (o->expect_gbps > 0) {
		finding_set(f, ST_ERROR, "there is nothing to hold against --expect: %s", x->why);
		finding_expect(f, ">= %g GB/s", o->expect_gbps);
	} else {
		against_no_share(f, x);
	}
	if (carries_nothing(s) && !s->groups.g.n)
		finding_fix(f, "ncclbench --hosts HOSTS  # or --np 2, on one host");
	else if (carries_nothing(s))
		again_fix(f, &s->o->again, "--groups 'div 2'", "two ranks in each");
}

void verdict_bandwidth(const struct story *s, const struct verdict_opts *o)
{
	struct finding *f = report_find(s->r, "coll.bandwidth", s->sweep.coll->name);
	struct expect x = derive(s);
	const struct against m = measured(s, &x, o);
	bool none = carries_nothing(s), differ = !none && groups_differ(&s->groups.g);

	if (!differ && !none) /* of those the table has a bandwidth that nobody had */
		finding_value(f, m.busbw, "GB/s");
	if (o->expect_gbps > 0 ? none : o->expect_share > 0 && isnan(x.busbw))
		say_no_answer(s, f, &x, o);
	else if (differ)
		finding_set(f, ST_INFO,
			    "not judged: groups of several sizes, of which each one's is %s",
			    o->expect_gbps > 0 ? "expected" : "in the list");
	else if (o->expect_gbps > 0)
		against_asked(f, o->expect_gbps, &m);
	else if (isfinite(x.busbw))
		judge_against(f, &x, &m);
	else
		say_unjudged(s, f, &x, m);
	fix_slow(s, f);
	verdict_add(s->r, f);
	say_fitted(s);
}
