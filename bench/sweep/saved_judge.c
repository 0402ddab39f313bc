#include "bench/sweep/against.h"
#include "bench/sweep/foreign.h"
#include "bench/sweep/instances.h"
#include "bench/sweep/peers.h"
#include "bench/sweep/saved.h"
#include "lib/core/quote.h"
#include "lib/core/units.h"

#include <math.h>

enum { AVERAGE_FROM = 16 << 20 };

/* The first thing that goes wrong with mpirun: every process is a world of its own. */
static void judge_worlds(const struct saved *s, const char *subject, int worlds, int ranks,
			 struct report *r)
{
	struct finding *f = report_find(r, "world.size", subject);
	int each = worlds ? ranks / worlds : 0;

	if (worlds > 1) {
		finding_set(
			f, ST_FAIL,
			"%d worlds of %d were started, not one of %d (each has a rank 0); nothing "
			"between them was measured",
			worlds, each, ranks);
		finding_fix(f, "make MPI=1 MPI_HOME=...  # build nccl-tests with MPI, or:");
		finding_fix(f, "ncclbench --hosts HOSTS -b 8 -e 1G");
	} else if (ranks == 1) {
		finding_set(f, ST_FAIL, "a single rank: nothing between ranks was measured");
		finding_fix(f, "ncclbench --np 8 -b 8 -e 1G");
	} else if (ranks) {
		finding_set(f, ST_PASS, "%d ranks on %d host%s%s%s", ranks, s->hosts,
			    s->hosts == 1 ? "" : "s",
			    s->uneven ? ", more on some than on others" : "",
			    s->groups > 1 ? arena_printf(f->a, ", in %d groups", s->groups) : "");
	} else {
		finding_set(f, ST_SKIP, "the list of devices is not in it");
	}
	report_add(r, f);
}

/* Tables of one rank each: processes that wrote into one file, whatever came when. */
static bool are_all_alone(const saved_list *l, int *ret_worlds, int *ret_ranks)
{
	*ret_worlds = *ret_ranks = 0;
	for (size_t i = 0; i < l->n; i++) {
		*ret_worlds += l->v[i].worlds;
		*ret_ranks += l->v[i].ranks;
	}
	return *ret_ranks && *ret_worlds == *ret_ranks;
}

static bool is_empty(const struct saved *s)
{
	for (size_t i = 0; i < s->run.points.n; i++)
		if (s->run.points.v[i].bytes > 0)
			return false;
	return true;
}

static void fix_wrong(struct finding *f)
{
	finding_fix(f, "NCCL_P2P_DISABLE=1 ncclbench ...  # right then? ACS or IOMMU breaks "
		       "peer access");
}

static void fix_read(const struct saved *s, struct finding *f, const char *what)
{
	finding_fix(f, "ncclwhy %s  # %s",
		    streq(s->file ?: "-", "-") ? "LOG" : shell_quote(f->a, s->file), what);
}

static void judge_end(const struct saved *s, const char *subject, struct report *r)
{
	struct finding *f = report_find(r, "coll.data", subject);

	if (s->wrong > 0) {
		finding_set(f, ST_FAIL, "%.0f elements came out wrong", s->wrong);
		fix_wrong(f);
	} else if (s->off >= 1 && isnan(s->average)) { /* at its end it would say what is wrong */
		if (isinf(s->off))
			finding_set(f, ST_FAIL, "results are no numbers (nan, inf)");
		else
			finding_set(f, ST_FAIL, "results are off by up to %g", s->off);
		fix_wrong(f);
	} else if (s->failure) {
		finding_set(f, ST_FAIL, "the run failed: %s", s->failure);
		fix_read(s, f, "of the whole log, with NCCL_DEBUG=INFO");
	} else if (isnan(s->average)) {
		finding_set(f, ST_WARN, "%s, but the run has no end: it was cut off or hung",
			    s->verified ? "no element was wrong so far" : "nothing was verified");
		fix_read(s, f, "of the whole log, with NCCL_DEBUG=INFO: what ended it");
	} else if (is_empty(s)) {
		finding_set(f, ST_ERROR,
			    "all messages were empty: nothing was carried or compared");
	} else if (!s->verified) {
		finding_set(f, ST_SKIP, "no result was verified (-c 0)");
	} else {
		finding_set(f, ST_PASS, "no element was wrong");
	}
	finding_expect(f, "no wrong element");
	report_add(r, f);
}

/* Old versions do not say which collective it was, and all_reduce's bus factor is its own. */
static const char *coll_of(const struct saved *s)
{
	double n = s->groups > 1 ? s->group_ranks : s->ranks,
	       factor = n > 2 ? 2 * (n - 1) / n : NAN;

	if (s->coll && *s->coll)
		return s->coll;
	return s->reduces && fabs(s->factor - factor) < 0.02 * factor ? "all_reduce" : NULL;
}

static struct lasting what_lasts(const struct saved *s, const struct expect *x)
{
	struct lasting b = {0};
	double largest = 0;

	for (size_t i = 0; i < s->run.points.n; i++)
		largest = fmax(largest, s->run.points.v[i].bytes);
	for (size_t i = 0; i < s->run.points.n; i++) {
		const struct plot_point *p = &s->run.points.v[i];

		lasting_take(&b, x, (uint64_t)largest, (uint64_t)p->bytes, p->busbw);
	}
	return b;
}

static void derive(const struct saved *s, const struct saved_opts *o, struct arena *a,
		   struct expect *ret)
{
	const char *coll = coll_of(s);
	bool told = o->nic_gbps > 0; /* then what is known of the type's cards does not count */
	const struct expect_facts f = {.backend = s->backend ? s->backend : "nccl",
				       .coll = coll ? coll : "",
				       .gpu = s->gpu
						      ?: told ? instance_gpu(o->instance)
							      : NULL,
				       .instance = told ? NULL : o->instance,
				       .ranks = s->ranks,
				       .hosts = s->hosts,
				       .uneven = s->uneven,
				       .nic_gbps = o->nic_gbps};

	*ret = (struct expect){.busbw = NAN};
	if (!coll)
		ret->why = "it does not say of which collective it is";
	else if (!s->ranks)
		ret->why = "the list of devices is not in it";
	else if (s->groups > 1 && (!s->group_ranks || s->uneven))
		ret->why = arena_printf(a, "%d groups at once, which are not alike", s->groups);
	else if (s->groups > 1)
		expect_derive_group(&f, s->group_ranks, s->group_hosts, s->groups, a, ret);
	else
		expect_derive(&f, a, ret);
}

/* Would it be judged if one knew how fast the network cards are? */
static bool lacks_cards(const struct saved *s, struct arena *a)
{
	const struct saved_opts any = {.nic_gbps = 100};
	struct expect x;

	derive(s, &any, a, &x);
	return isfinite(x.busbw);
}

/* What --nic says is somebody's word; else our table is wrong. */
static bool is_of_cards(const struct saved *s) { return s->hosts > 1; }

static struct against measured(const struct saved *s, const struct saved_opts *o,
			       const struct expect *x, struct arena *a)
{
	const struct lasting best = what_lasts(s, x);
	const struct share asked = {o->expect_share > 0, o->expect_share};
	struct unit_buf size, rate;

	return (struct against){
		.what = arena_printf(a, "up to %s GB/s at %s", format_rate(&rate, best.busbw),
				     format_size(&size, best.bytes)),
		.but = lasting_burst(&best, a),
		.busbw = best.busbw,
		.bytes = best.bytes,
		.warn = asked,
		.fail = asked,
		.doubted = is_of_cards(s) || o->expect_share > 0 ? ST_WARN : ST_INFO,
	};
}

/* What is to be done about it. */
static void judge_against(const struct saved *s, struct finding *f, const struct expect *x,
			  const struct against *m)
{
	const enum against_is is = against_say(f, x, m);

	if (is == AGAINST_TOO_SMALL)
		finding_fix(f, "ncclbench -b 8 -e 8G");
	else if (is == AGAINST_DOUBTED && is_of_cards(s))
		finding_fix(f, "ethtool IFACE   # on a host, each card; --nic: all of one "
			       "host's together, in Gb/s");
	else if (is == AGAINST_JUDGED && f->status != ST_PASS)
		finding_fix(f, "NCCL_DEBUG=INFO ... 2>&1 | ncclwhy  # which transport, which "
			       "cards");
}

static void judge_speed(const struct saved *s, const char *subject, const struct saved_opts *o,
			const struct expect *x, struct report *r)
{
	struct finding *f = report_find(r, "coll.bandwidth", subject);
	const struct against m = measured(s, o, x, f->a);

	finding_value(f, m.busbw, "GB/s");
	if (o->expect_gbps > 0) {
		against_asked(f, o->expect_gbps, &m);
		if (f->status == ST_FAIL)
			finding_fix(f, "NCCL_DEBUG=INFO ... 2>&1 | ncclwhy  # which transport, "
				       "which cards");
	} else if (isnan(x->busbw) && o->expect_share > 0) {
		against_no_share(f, x);
	} else if (isnan(x->busbw)) {
		against_unjudged(f, x, &m);
		if (isnan(o->nic_gbps) && lacks_cards(s, f->a))
			finding_fix(f, "- say what the hosts are: --nic GBITS (one host's network "
				       "cards together), --instance TYPE (p5.48xlarge), or what is "
				       "expected: --expect GBPS");
		else
			finding_fix(f, "- say what is expected: --expect GBPS");
	} else {
		judge_against(s, f, x, &m);
	}
	report_add(r, f);
}

/* Sizes too small to judge by pull the average down. */
static bool has_small(const struct saved *s)
{
	const struct plot_run *run = &s->run;

	for (size_t i = 0; i < run->points.n; i++)
		if (run->points.v[i].bytes < AVERAGE_FROM)
			return true;
	return false;
}

static void judge_table(const struct saved *s, const char *subject, const struct saved_opts *o,
			struct report *r)
{
	struct unit_buf rate;
	struct expect x;

	judge_end(s, subject, r);
	derive(s, o, report_arena(r), &x);
	judge_speed(s, subject, o, &x, r);
	if (s->average > 0 && has_small(s))
		report_remark(r,
			      "The average of %s GB/s is over all sizes, small ones included: "
			      "it says little about the hardware.",
			      format_rate(&rate, s->average));
}

/* "all_reduce"; of several in one file "2. all_gather"; of several files "a.log: all_reduce". */
static const char *subject_of(const saved_list *l, size_t i, struct arena *a)
{
	const char *file = l->v[i].file, *coll = coll_of(&l->v[i]);
	size_t n = 0, number = 0;

	if (l->n == 1)
		return coll;
	for (size_t k = 0; k < l->n; k++)
		if (streq(l->v[k].file, file)) {
			n++;
			number += k <= i;
		}
	coll = coll ? coll : "table";
	if (n > 1)
		coll = arena_printf(a, "%zu. %s", number, coll);
	return n == l->n ? coll : arena_printf(a, "%s: %s", file, coll);
}

void saved_judge(const saved_list *l, const struct saved_opts *o, struct report *r)
{
	int worlds, ranks;
	bool alone = are_all_alone(l, &worlds, &ranks);

	if (alone)
		judge_worlds(&l->v[0], NULL, worlds, ranks, r);
	for (size_t i = 0; i < l->n; i++) {
		const struct saved *s = &l->v[i];
		const char *subject = subject_of(l, i, report_arena(r));

		if (s->foreign) {
			foreign_judge(s->foreign, subject, o, r);
			continue;
		}
		if (s->peers) {
			peers_judge(s->peers, subject, o, r);
			continue;
		}
		if (alone)
			continue;
		judge_worlds(s, l->n > 1 ? subject : NULL, s->worlds, s->ranks, r);
		if (s->worlds < 2)
			judge_table(s, subject, o, r);
	}
	report_covers(r, "a saved run; nothing was measured here");
}
