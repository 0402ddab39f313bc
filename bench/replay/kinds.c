/* Each kind of what was recorded by itself. Who has no part in it waits at the rendezvous, and
 * takes no processor from who has. */
#include "bench/replay/run.h"
#include "bench/sweep/tell.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <math.h>

enum { ITERS_MAX = 50, FIRST_BYTES = 1 << 20 };
/* What a size takes is known from one that is so much smaller at most; and it has to have room for
 * so many: tried twice, timed twice, verified, and filled and compared meanwhile. */
static const double COME_UP = 16, TRIES = 12;

/* --- what the backend can --------------------------------------------------------------- */

/* Of the same size, where the backend has not this one. */
static bool fit_type(const struct comm_caps *caps, struct traffic_kind *k)
{
	size_t size = dtype_size(k->type);

	if (caps->types >> k->type & 1)
		return true;
	for (enum dtype t = 0; t < DT_COUNT; t++)
		if ((caps->types >> t & 1) && dtype_size(t) == size) {
			k->type = t;
			return true;
		}
	return false;
}

static void tell_left(struct replay *p, size_t kind, const char *why)
{
	cJSON *event = relay_event("replayed");

	json_num(event, "kind", (double)kind);
	json_str(event, "why", why);
	run_tell(p, event);
}

/* Why this backend cannot do it; NULL: it can. */
static const char *lacks(struct replay *p, struct traffic_kind *k)
{
	const struct comm_caps *caps = comm_caps(p->r->comm);

	if (!(caps->kinds >> k->coll->kind & 1))
		return arena_printf(p->r->a, "%s has no %s", caps->backend, k->coll->name);
	if (!fit_type(caps, k))
		return arena_printf(p->r->a, "%s knows no %s", caps->backend, dtype_name(k->type));
	return NULL;
}

/* --- how long --------------------------------------------------------------------------- */

/* Once, and once more by the clock: what it takes, as its ranks agree. */
static int roughly(struct comm *c, const struct comm_request *q, double *ret, struct err *e)
{
	uint64_t start;

	if (comm_run(c, q, e) || comm_barrier(c, e))
		return -1;
	start = now_ns();
	if (comm_run(c, q, e))
		return -1;
	*ret = (double)(now_ns() - start) / 1e9;
	return sweep_agree(c, ret, 1, OP_MAX, e);
}

/* What the slowest group took, as all know now. */
static double slowest_s(const struct replay *p)
{
	double most = 1e-6;

	for (int i = 0; i < p->t.ranks; i++)
		most = fmax(most, p->all[i].rough_s);
	return most;
}

/* How often, so that it takes its share of the time, as rank 0's clock has it; and nobody looks on
 * for longer than the others are believed. */
static uint64_t choose_iters(const struct replay *p, double rough, size_t shares)
{
	double n = p->all[0].left_s / (double)shares / 2 / rough;

	n = fmin(n, (double)p->r->deadline_ns / 1e9 / 4 / rough - 3);
	n = fmin(n, ITERS_MAX);
	return n < 1 ? 1 : (uint64_t)n;
}

/* Collective, of a case of @count: everybody gets to know what it takes. */
static int try_count(struct replay *p, struct coll_case *c, struct comm *part, size_t count,
		     double *ret_s, struct err *e)
{
	struct comm_request q;

	c->coll->sizes(c->ranks, count, &c->sizes);
	p->own.rough_s = p->own.seconds = -1;
	q = coll_request(c, &p->s.buffers);
	if ((part && roughly(part, &q, &p->own.rough_s, e)) || run_share(p, p->kinds_end_ns, e))
		return -1;
	*ret_s = slowest_s(p);
	return 0;
}

/* A large one is come up to; what would take longer than there is time is cut. */
static int come_up_to(struct replay *p, struct coll_case *c, struct comm *part, size_t shares,
		      double *ret_s, struct err *e)
{
	size_t count = c->sizes.count, bytes = coll_bytes(c), tried = count;
	double room;

	if (bytes > FIRST_BYTES)
		tried = (size_t)((double)count / (double)bytes * FIRST_BYTES);
	tried += !tried;
	if (try_count(p, c, part, tried, ret_s, e))
		return -1;
	while (tried < count && *ret_s * TRIES <= p->all[0].left_s) {
		room = p->all[0].left_s / TRIES / (double)shares;
		room = fmax(1, fmin(COME_UP, room / *ret_s));
		if (room < 2 && tried > 1) /* the next one has no room any more */
			break;
		tried = (double)tried * room < (double)count ? (size_t)((double)tried * room)
							     : count;
		if (try_count(p, c, part, tried, ret_s, e))
			return -1;
	}
	return 0;
}

static int measure_turn(struct replay *p, struct coll_case *c, struct comm *part, size_t shares,
			bool *ret_skips, struct err *e)
{
	struct measurement m;
	double rough;

	p->s.buffers = (struct coll_buffers){p->s.allocated[0], p->s.allocated[1], false};
	p->s.comm = part ? part : p->r->comm;
	c->rank = part ? part->rank : 0;
	if (come_up_to(p, c, part, shares, &rough, e))
		return -1;
	*ret_skips = p->all[0].left_s <= 0;
	if (*ret_skips)
		return 0;
	p->own.rough_s = -1;
	if (part) {
		if (measure(&p->s, c, choose_iters(p, rough, shares), &m, e))
			return -1;
		p->own.seconds = m.p50;
		p->own.wrong = (double)m.wrong;
	}
	return run_share(p, p->kinds_end_ns, e);
}

void run_add_up(const struct replay *p, double scale, struct replay_kind *k)
{
	for (int i = 0; i < p->t.ranks; i++) {
		const struct word *w = &p->all[i];
		double us = w->seconds * scale * 1e6;

		if (w->seconds < 0 || !(w->group >= 0 && w->group < (double)p->t.groups.n))
			continue; /* it looked on, or made it up */
		if (!k->done || us > k->us) {
			k->us = us;
			k->slowest = (uint32_t)w->group;
		}
		if (!k->done || us < k->least_us) {
			k->least_us = us;
			k->fastest = (uint32_t)w->group;
		}
		k->scale = fmax(k->scale, scale);
		if (p->t.groups.v[(size_t)w->group].ranks[0] == i)
			k->wrong += w->wrong;
		k->done = true;
	}
}

static void tell_kind(struct replay *p, size_t kind, const struct replay_kind *k)
{
	cJSON *event = relay_event("replayed");

	json_num(event, "kind", (double)kind);
	if (k->done) {
		json_num(event, "us", k->us);
		json_num(event, "least_us", k->least_us);
		json_num(event, "wrong", k->wrong);
		json_num(event, "slowest", k->slowest);
		json_num(event, "fastest", k->fastest);
		json_num(event, "scale", k->scale);
	}
	run_tell(p, event);
}

static int run_kind(struct replay *p, size_t kind, struct err *e)
{
	const struct traffic_kind *k = &p->t.kinds.v[kind];
	uint32_t *turn = arena_alloc(p->r->a, (k->groups.n + 1) * sizeof(*turn)), turns;
	const struct coll_case whole = traffic_case(&p->t, k);
	struct replay_kind sum = {.scale = 1};
	bool skips = false;

	turns = traffic_turns(&p->t, k->groups.v, k->groups.n, turn);
	for (uint32_t now = 0; now < turns && !skips; now++) {
		struct coll_case c = whole;
		struct comm *part = NULL;

		p->own = (struct word){.group = -1};
		p->s.seed = (kind << 16) + (now << 4); /* who looked on has counted fewer */
		for (size_t i = 0; i < k->groups.n; i++)
			if (turn[i] == now && p->comms[k->groups.v[i]]) {
				part = p->comms[k->groups.v[i]];
				p->own.group = k->groups.v[i];
			}
		if (measure_turn(p, &c, part, (p->t.kinds.n - kind) * turns, &skips, e))
			return -1;
		if (!skips)
			run_add_up(p, p->scale[kind] * (double)k->count / (double)c.sizes.count,
				   &sum);
	}
	sum.done &= !skips;
	p->now_s[kind] = sum.done ? sum.us / 1e6 : NAN;
	p->is_cut |= sum.scale > 1;
	tell_kind(p, kind, &sum);
	return 0;
}

static void say_next(struct replay *p, size_t kind)
{
	const struct traffic_kind *k = &p->t.kinds.v[kind];
	struct unit_buf size;

	if (!p->r->comm->rank)
		tell_next(p->r,
			  arena_printf(p->r->a, "%s of %s", k->as,
				       format_size(&size, (uint64_t)traffic_bytes(&p->t, k))),
			  (double)kind, (double)p->t.kinds.n + 1);
}

int run_kinds(struct replay *p, struct err *e)
{
	p->now_s = arena_alloc(p->r->a, (p->t.kinds.n + 1) * sizeof(*p->now_s));
	for (size_t i = 0; i < p->t.kinds.n; i++) {
		const char *why = lacks(p, &p->t.kinds.v[i]);

		p->now_s[i] = NAN;
		if (why) {
			tell_left(p, i, why);
			continue;
		}
		say_next(p, i);
		if (run_kind(p, i, e))
			return -1;
	}
	return 0;
}
