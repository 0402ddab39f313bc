/*
 * --together: all hosts in a pair each, both ways at the same time and for the same time, and a few
 * of these pairs alone. The rounds do not tell: their pairs begin and end as each of them likes, go
 * one way at a time, and what looks slow there is tried again alone. It is asked for by itself,
 * since it takes seconds that the rounds of a few hosts do not: 0.3 s each time, ten times (four
 * hosts: six), where something is shared twice as often and AT_ONCE_TRIALS times more.
 */
#include "bench/sweep/at_once.h"
#include "bench/sweep/pairs.h"
#include "lib/core/units.h"
#include "lib/host/robbed.h"
#include "lib/report/json.h"

#include <math.h>
#include <time.h>

static const double WARM_S = 0.06, TIMED_S = 0.24, LAP_S = 0.01;
enum { LAP_LEAST = 64 << 10, TRIES = 3 };

struct rate { /* of one unit; travels */
	double gbps, unhindered, hindered, busy;
};

struct flow {
	const struct pairs *p;
	struct comm *part;
	size_t lap; /* bytes each way, until both have met again */
};

static double seconds_since(uint64_t ns) { return (double)(now_ns() - ns) / 1e9; }

/* Each sends the other so much; *ret: how long ago @since was then, as both agree. */
static int lap(const struct flow *f, uint64_t since, double *ret, struct err *e)
{
	size_t most = f->p->chunk / 2;
	struct comm_request q = {.kind = COLL_SENDRECV,
				 .send = f->p->buffer,
				 .recv = f->p->buffer + most,
				 .type = DT_UINT8};

	for (size_t at = 0; at < f->lap; at += q.count) {
		q.count = f->lap - at < most ? f->lap - at : most;
		if (comm_start(f->part, &q, e))
			return -1;
	}
	if (comm_wait(f->part, e))
		return -1;
	*ret = seconds_since(since);
	return sweep_agree(f->part, ret, 1, OP_MAX, e);
}

/* Longer laps until meeting costs little; and what a rate limit lets through at first is gone. */
static int warm_up(struct flow *f, struct err *e)
{
	uint64_t begun = now_ns();
	double before = 0, now;

	for (f->lap = LAP_LEAST;; before = now) {
		if (lap(f, begun, &now, e))
			return -1;
		if (now - before < LAP_S && f->lap < f->p->most)
			f->lap *= 2;
		else if (now >= WARM_S)
			return 0;
	}
}

static double processor_s(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t)
		       ? 0
		       : (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int timed(struct flow *f, struct rate *ret, struct err *e)
{
	double robbed = robbed_s(), used = processor_s(), bytes = 0, now = 0;
	uint64_t begun = now_ns();

	for (; now < TIMED_S; bytes += (double)f->lap)
		if (lap(f, begun, &now, e))
			return -1;
	robbed = robbed_s() - robbed;
	used = processor_s() - used + robbed;
	if (sweep_agree(f->part, &robbed, 1, OP_MAX, e) ||
	    sweep_agree(f->part, &used, 1, OP_SUM, e))
		return -1;
	ret->gbps = bytes / 1e9 / now;
	ret->unhindered = bytes / 1e9 / robbed_favour(now, robbed);
	ret->hindered = fmin(1, robbed / now);
	ret->busy = f->p->serial ? used / now : NAN;
	return 0;
}

/* @with: whom this unit meets; -1: it looks on. All begin together. */
static int meet(struct pairs *p, int with, struct rate *ret, struct err *e)
{
	struct flow f = {.p = p};
	int colour = with < 0 ? COMM_NO_COLOUR : with < p->me ? with : p->me, result;

	if (comm_split(p->c, colour, 0, &f.part, e))
		return -1;
	result = f.part ? comm_register(f.part, p->buffer, p->chunk, e) : 0;
	if (!result) {
		result = comm_barrier(p->c, e);
		if (!result && f.part)
			result = warm_up(&f, e) || timed(&f, ret, e) ? -1 : 0;
		if (f.part)
			comm_unregister(f.part, p->buffer);
	}
	comm_free(f.part);
	return result ? -1 : 0;
}

static int partner_in(const struct pairs *p, const duo_list *l, int only)
{
	for (size_t i = 0; i < l->n && p->me >= 0; i++) {
		const struct duo *d = &l->v[i];

		if ((only < 0 || (size_t)only == i) && (d->a == p->me || d->b == p->me))
			return d->a == p->me ? d->b : d->a;
	}
	return -1;
}

/* Of several tries the best counts. */
static void take_at_once(struct duo *d, const struct rate *x)
{
	if (d->at_once >= x->gbps)
		return;
	d->at_once = x->gbps;
	d->unhindered = x->unhindered;
	d->busy = x->busy;
}

static void take(const struct pairs *p, const struct rate *all, int only, duo_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct duo *d = &l->v[i];
		const struct rate *x = &all[p->units[d->a]];

		if (!(x->gbps > 0))
			continue;
		if (only < 0)
			take_at_once(d, x);
		if (only < 0 || (size_t)only != i)
			continue;
		d->alone = fmax(d->alone, x->gbps);
		d->hindered = fmin(d->hindered, x->hindered);
	}
}

/* Who looks on sleeps until all have come, and takes no processor from those who do not. */
static int go(struct pairs *p, duo_list *l, int only, struct err *e)
{
	struct rate mine = {-1, -1, -1, -1};
	struct rate *all = arena_alloc(p->r->a, (size_t)p->c->size * sizeof(*all));

	if (meet(p, partner_in(p, l, only), &mine, e) ||
	    rdzv_all_gather(p->r->w->rdzv, &mine, sizeof(mine), all, e))
		return -1;
	take(p, all, only, l);
	return 0;
}

static int measure_within(void *arg, duo_list *l, struct err *e)
{
	pairs_progress(arg, "groups of hosts, all at once", 0, 1);
	return go(arg, l, -1, e);
}

static int alone_and_at_once(struct pairs *p, duo_list *l, struct err *e)
{
	size_t n = duo_samples(l->n);

	pairs_progress(p, "all pairs at once", 0, 1);
	if (go(p, l, -1, e))
		return -1;
	for (size_t k = 0; k < n; k++) {
		pairs_progress(p, "these pairs alone", (int)k, (int)n);
		if (go(p, l, (int)duo_sample(l->n, k), e))
			return -1;
	}
	return 0;
}

/* --- telling ------------------------------------------------------------------------------- */

static void tell(const struct pairs *p, const duo_list *l, const struct at_once_groups *groups,
		 double seconds)
{
	cJSON *event = relay_event("at_once"), *duos = json_array(event, "pairs"),
	      *of = json_array(event, "of");

	for (size_t i = 0; i < l->n; i++) {
		const struct duo *d = &l->v[i];
		cJSON *o = json_push_object(duos);

		json_num(o, "a", d->a);
		json_num(o, "b", d->b);
		json_num(o, "alone", d->alone);
		json_num(o, "at_once", d->at_once);
		json_num(o, "unhindered", d->unhindered);
		json_num(o, "hindered", d->hindered);
		json_num(o, "busy", d->busy);
	}
	for (int i = 0; groups->g && i < p->n; i++)
		cJSON_AddItemToArray(of, cJSON_CreateNumber(groups->g->of[i]));
	json_bool(event, "share_machine", p->serial);
	json_num(event, "share", groups->share);
	json_num(event, "trials", groups->trials);
	json_num(event, "seconds", seconds);
	relay_send(p->r->relay, event);
}

static void tell_why_not(const struct pairs *p)
{
	cJSON *event = relay_event("at_once");

	json_bool(event, "share_machine", p->one_host);
	relay_send(p->r->relay, event);
}

/* All have the same numbers. Once may be chance: what looks shared is measured again, and what
 * other work spoiled has one try more. */
static int until_sure(struct pairs *p, duo_list *l, struct at_once *ret, struct err *e)
{
	for (int k = 0; k < TRIES; k++) {
		if (alone_and_at_once(p, l, e))
			return -1;
		*ret = at_once_judge(l, p->r->a);
		if (ret->is == AT_ONCE_KEPT || ret->ratio >= AT_ONCE_SHARE ||
		    (k && ret->is == AT_ONCE_SLOWER))
			break;
	}
	return 0;
}

static int compare(struct pairs *p, duo_list *both, const duo_list **ret, struct err *e)
{
	const struct grouping all = grouping_all(p->n, p->r->a);
	struct at_once is[2];

	for (int i = 0; i < 2; i++) {
		duos_within(&all, i, p->r->a, &both[i]);
		if (until_sure(p, &both[i], &is[i], e))
			return -1;
	}
	/* what is known to be slower, before what is not known */
	*ret = &both[is[1].is == AT_ONCE_SLOWER
			     ? is[0].is != AT_ONCE_SLOWER || is[1].ratio < is[0].ratio
			     : is[0].is == AT_ONCE_KEPT && is[1].is == AT_ONCE_UNKNOWN];
	return 0;
}

int pairs_at_once(struct pairs *p, struct err *e)
{
	const struct at_once_way way = {measure_within, p, p->r->a};
	uint64_t begun = now_ns();
	struct at_once_groups groups = {.share = NAN};
	struct at_once_seen seen;
	const duo_list *worst;
	duo_list both[2];

	if (p->one_host || p->n < AT_ONCE_HOSTS) {
		if (!p->c->rank)
			tell_why_not(p);
		return 0;
	}
	if (compare(p, both, &worst, e))
		return -1;
	if (at_once_judge(worst, p->r->a).is == AT_ONCE_SLOWER) {
		seen_begin(&seen, p->n, both, 2, p->r->a);
		if (at_once_find(&seen, &way, &groups, e))
			return -1;
	}
	if (!p->c->rank)
		tell(p, worst, &groups, seconds_since(begun));
	return 0;
}
