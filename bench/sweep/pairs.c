/*
 * Latency, bandwidth and loss of every pair: one rank per host (where there is
 * one host only: every rank), everybody in one pair at a time, in rounds; each pair
 * is a communicator of its own. What looks slow is measured again (pairs_again.c).
 * Hosts with several network cards that go in parallel (rails), or several GPUs: each rail by
 * itself.
 */
#include "bench/sweep/pairs.h"

#include "bench/sweep/slow.h"
#include "bench/sweep/tell.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <math.h>

enum { RAIL_TRIES = 3, CHUNK = 4 << 20, CHUNK_GPU = 64 << 20 };
static const size_t MOST = 1u << 30, MOST_GPU = (size_t)16 << 30;

static const struct pair_result nothing = {-1, -1, -1, -1, -1, -1};

static double known(double v) { return v < 0 ? NAN : v; }

/* Who looks on waits for a message, and does not take processors from the pair by spinning. */
static int gather_asleep(struct pairs *p, const struct pair_result *mine, struct err *e)
{
	return rdzv_all_gather(p->r->w->rdzv, mine, sizeof(*mine), p->all, e);
}

static int gather(struct pairs *p, const struct pair_result *mine, struct err *e)
{
	size_t size = (size_t)p->c->size;

	for (size_t i = 0; i < size; i++)
		p->all[i] = nothing;
	p->all[p->c->rank] = *mine;
	return sweep_agree(p->c, &p->all[0].partner, size * RESULT_DOUBLES, OP_MAX, e);
}

/* A few packets say little: those of all tries count, but of the worst one. */
static void count_lost(struct pairs *p, int to, double sent, double again)
{
	struct pair_loss *l = &p->loss[to];

	if (!(sent > 0)) /* not known */
		return;
	if (!l->tries++ || again * l->worst_sent > l->worst_again * sent) {
		l->worst_sent = sent;
		l->worst_again = again;
	}
	l->sent += sent;
	l->again += again;
	p->sent[to] = l->tries > 1 ? l->sent - l->worst_sent : l->sent;
	p->again[to] = l->tries > 1 ? l->again - l->worst_again : l->again;
}

/* Everybody gets to know what came of this round. */
static int share(struct pairs *p, const struct pair_result *mine, struct err *e)
{
	if (p->serial ? gather_asleep(p, mine, e) : gather(p, mine, e))
		return -1;
	for (int i = 0; i < p->n; i++) {
		const struct pair_result *x = p->units[i] < 0 ? &nothing : &p->all[p->units[i]];
		int to;

		if (!(x->partner >= 0 && x->partner < p->n)) /* nobody, or made up */
			continue;
		to = i * p->n + (int)x->partner;
		p->gbps[to] = fmax(p->gbps[to], known(x->gbps)); /* the better of two tries */
		p->unhindered[to] = fmax(p->unhindered[to], known(x->unhindered));
		p->latency[to] = fmin(p->latency[to], known(x->latency));
		count_lost(p, to, x->sent, x->again);
	}
	return 0;
}

/* Pairs @with each other meet, each in a part of its own; -1: this rank looks on. */
static int try_pairs(struct pairs *p, int with, struct err *e)
{
	struct pair_result mine = nothing;
	bool meets = p->me >= 0 && with >= 0 && with != p->me && p->units[with] >= 0;
	struct comm *part;
	int result;

	if (comm_split(p->c, meets ? (p->me < with ? p->me : with) : COMM_NO_COLOUR, 0, &part, e))
		return -1;
	mine.partner = meets ? with : -1;
	result = part ? pairs_meet(p, part, &mine, e) : 0;
	comm_free(part);
	return result ? -1 : share(p, &mine, e);
}

int pairs_try(struct pairs *p, int a, int b, struct err *e)
{
	return try_pairs(p, p->me == a ? b : p->me == b ? a : -1, e);
}

void pairs_progress(struct pairs *p, const char *what, int done, int of)
{
	if (!p->c->rank)
		tell_next(p->r, what, done, of);
}

/* Whom unit @i meets in round @k: each of the others in one of n rounds. */
static int partner_of(const struct pairs *p, int i, int k)
{
	return ((k - i) % p->n + p->n) % p->n;
}

static int serial_round(struct pairs *p, int k, struct err *e)
{
	for (int i = 0; i < p->n; i++) {
		int other = partner_of(p, i, k);

		if (i < other && pairs_try(p, i, other, e))
			return -1;
	}
	return 0;
}

static int rounds(struct pairs *p, struct err *e)
{
	for (int k = 0; k < p->n; k++) {
		pairs_progress(p, "pairs of hosts", k, p->n);
		if (p->serial ? serial_round(p, k, e)
			      : pairs_try(p, p->me, p->me < 0 ? -1 : partner_of(p, p->me, k), e))
			return -1;
	}
	return 0;
}

static void tell_units(const struct pairs *p, const rail_list *rails)
{
	cJSON *event = relay_event("units"), *units = json_array(event, "ranks"),
	      *names = json_array(event, "rails");

	for (int i = 0; i < p->n; i++)
		cJSON_AddItemToArray(units, cJSON_CreateNumber(p->units[i]));
	for (int i = 0; i < rails->n; i++) {
		cJSON *o = json_push_object(names);

		json_str(o, "name", rails->v[i].name);
		json_num(o, "gbps", rails->v[i].gbps);
		if (rails->of_ranks)
			units_tell(p, i, json_array(o, "ranks"));
	}
	relay_send(p->r->relay, event);
}

static void tell_pairs(const struct pairs *p)
{
	for (int a = 0; a < p->n; a++)
		for (int b = 0; b < p->n; b++) {
			cJSON *event;

			if (a == b)
				continue;
			event = relay_event("pair");
			json_num(event, "a", a);
			json_num(event, "b", b);
			json_num(event, "rail", p->rail);
			json_num(event, "latency", p->latency[a * p->n + b]);
			json_num(event, "gbps", p->gbps[a * p->n + b]);
			json_num(event, "sent", p->sent[a * p->n + b]);
			json_num(event, "again", p->again[a * p->n + b]);
			json_num(event, "unhindered", p->unhindered[a * p->n + b]);
			json_num(event, "meanwhile", p->meanwhile[a * p->n + b]);
			relay_send(p->r->relay, event);
		}
}

static double *matrix(struct pairs *p)
{
	size_t n = (size_t)p->n * (size_t)p->n;
	double *v = arena_alloc(p->r->a, n * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = NAN;
	return v;
}

static int measure_all(struct pairs *p, struct err *e)
{
	if (!p->gbps) {
		p->gbps = matrix(p);
		p->latency = matrix(p);
		p->sent = matrix(p);
		p->again = matrix(p);
		p->loss = arena_alloc(p->r->a, (size_t)p->n * (size_t)p->n * sizeof(*p->loss));
		p->unhindered = matrix(p);
		p->meanwhile = matrix(p);
	}
	return rounds(p, e) || pairs_again(p, e) ? -1 : 0;
}

/* --- rails --------------------------------------------------------------------------- */

/* Over connections that know their card; 0 also where there are none to be had. */
static int measure_rail(struct pairs *p, const rail_list *rails, struct err *e)
{
	struct comm *all = p->c;
	int result;

	if (rails->of_ranks)
		return measure_all(p, e);
	p->c = rail_comm(p, rails, p->rail, e);
	if (!p->c) {
		p->c = all;
		return e->kind ? -1 : 0;
	}
	result = measure_all(p, e);
	if (result) {
		p->r->culprit = comm_culprit(p->c, NULL);
		comm_abort(all, "pairs could not be measured"); /* nobody comes to its end */
	}
	comm_free(p->c);
	p->c = all;
	return result;
}

static double best_of(const struct pairs *p)
{
	double most = NAN;

	for (int i = 0; p->gbps && i < p->n * p->n; i++)
		most = fmax(most, p->gbps[i]);
	return most;
}

/* All have the same numbers: a rail that does worse than another one is tried again. */
static bool is_behind(const struct pairs *rail, const struct pairs *all, int n)
{
	double most = NAN;

	for (int i = 0; i < n; i++)
		most = fmax(most, best_of(&all[i]));
	return best_of(rail) < most * SLOW_SHARE;
}

static int measure_rails(const struct pairs *p, const rail_list *rails, struct err *e)
{
	struct pairs each[RAILS_MAX];
	int complete = 0, result = 0;

	for (int k = 0; k < RAIL_TRIES && !result; k++)
		for (int i = 0; i < rails->n && !result; i++) {
			if (!k) {
				each[i] = *p;
				each[i].rail = i;
				if (rails->of_ranks)
					units_find(&each[i], i);
			} else if (!is_behind(&each[i], each, rails->n)) {
				continue;
			}
			result = measure_rail(&each[i], rails, e);
			complete += !k && !result;
		}
	for (int i = 0; i < complete && !p->c->rank; i++)
		if (each[i].gbps)
			tell_pairs(&each[i]);
	return result;
}

int rank_pairs(struct rank *r, void (*ready)(struct rank *r), struct err *e)
{
	bool gpu = comm_caps(r->comm)->memory & COMM_CUDA;
	struct pairs p = {.r = r,
			  .c = r->comm,
			  .rail = -1,
			  .chunk = gpu ? CHUNK_GPU : CHUNK,
			  .most = gpu ? MOST_GPU : MOST};
	rail_list rails = {0};
	void *buffer = NULL;
	int result;

	units_spread(&p);
	units_find(&p, 0);
	p.all = arena_alloc(r->a, (size_t)r->comm->size * sizeof(*p.all));
	if (r->dev->alloc(r->dev, p.chunk, &buffer, e))
		return -1;
	p.buffer = buffer;
	r->dev->clear(r->dev, buffer, p.chunk);
	result = r->dev->sync(r->dev, e) || units_see_machines(&p, e) || rails_find(&p, &rails, e)
			 ? -1
			 : 0;
	if (!result) {
		units_rails(&p, &rails);
		ready(r);
	}
	if (!result && !r->comm->rank)
		tell_units(&p, &rails);
	if (!result && rails.n)
		result = measure_rails(&p, &rails, e);
	else if (!result)
		result = measure_all(&p, e);
	if (!result && !rails.n && !r->comm->rank)
		tell_pairs(&p);
	if (!result && r->o->together)
		result = pairs_at_once(&p, e);
	r->dev->free(r->dev, buffer);
	return result;
}
