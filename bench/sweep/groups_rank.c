/*
 * One rank's part in --groups: the communicator of its own group, and once all rows are there, one
 * more look at groups that seem slow: first all of them at once again, for longer, then by turns
 * alone with one that is well, while all others are quiet. Only who does worse than that one in
 * the same moments is slow; who is slow beside the others alone shares something with them.
 */
#include "bench/ranks/hosts.h"
#include "bench/sweep/groups_judge.h"
#include "bench/sweep/slow.h"
#include "bench/sweep/tell.h"
#include "lib/core/units.h"
#include "lib/host/robbed.h"
#include "lib/report/json.h"

#include <math.h>

enum { TRIES = 3, TURNS = 5, TURNS_LEAST = 2, SUSPECTS_MAX = 16, ITERS_MAX = 1000 };
static const double SECONDS = 0.15;

struct groups_run {
	struct rank *r;
	struct groups g;
	struct hosts spread;
	struct groups_book book;
	struct coll_case c;   /* of the largest size, and */
	uint64_t bytes;	      /* that size */
	double *gbps;	      /* by group */
	double *now, *favour; /* likewise, of the latest try; and in the favour of who was robbed */
	double *by_rank;
	double shares_gpu; /* not 0: some ranks do */
	struct groups_tried *tried;
	struct group_verdict *is;
	void (*row)(struct sweep *s, const struct sweep_row *r); /* whom it tells */
};

static struct groups_run *run_of(const struct groups *g)
{
	return CONTAINER_OF(g, struct groups_run, g);
}

/* --- all of them at once ------------------------------------------------------------------- */

static void on_row(struct sweep *s, const struct sweep_row *row)
{
	struct groups_run *p = run_of(s->groups);
	struct coll_case shown = among_shown(s, row->c);
	struct sweep_row all_alike = *row;

	all_alike.c = &shown;
	groups_book_add(&p->book, &all_alike);
	if (s->bytes > p->bytes) {
		p->bytes = s->bytes;
		p->c = *row->c;
	}
	if (p->row)
		p->row(s, row);
}

/* --- again --------------------------------------------------------------------------------- */

/* What every group reached just now. */
static void sum_up(struct groups_run *p, struct sweep *s, const struct coll_case *c)
{
	const double *robbed = p->by_rank + p->g.size;
	struct coll_case shown = among_shown(s, c);

	for (int i = 0; i < p->g.n; i++) {
		const struct group *g = &p->g.v[i];
		double took = 0, lost = 0;

		for (int k = 0; k < g->n; k++) {
			took += p->by_rank[g->ranks[k]] / g->n;
			lost = fmax(lost, robbed[g->ranks[k]]);
		}
		p->now[i] = p->favour[i] = NAN;
		if (!(took > 0))
			continue;
		p->now[i] = groups_busbw(&p->g, i, &shown, took);
		p->favour[i] = groups_busbw(&p->g, i, &shown, robbed_favour(took, lost));
	}
}

/* Group @only runs, or all (-1); the others wait. */
static int try_group(struct groups_run *p, struct sweep *s, int only, uint64_t iters, struct err *e)
{
	int me = s->comm->rank, own = p->g.of[me];
	bool runs = own >= 0 && (only < 0 || only == own);
	double robbed, *v = p->by_rank;
	struct coll_case c = p->c;
	struct comm_request q;
	uint64_t start;

	memset(v, 0, (size_t)p->g.size * 2 * sizeof(*v));
	measure_aim(s, &c, p->bytes, 0);
	q = coll_request(&c, &s->buffers);
	if (comm_barrier(s->comm, e))
		return -1;
	start = now_ns();
	robbed = robbed_s();
	for (uint64_t i = 0; runs && i < iters; i++)
		if (among_run(s, &q, e))
			return -1;
	if (runs) {
		v[me] = (double)(now_ns() - start) / 1e9 / (double)iters;
		v[p->g.size + me] = (robbed_s() - robbed) / (double)iters;
	}
	if (sweep_agree(s->comm, v, (size_t)p->g.size * 2, OP_SUM, e))
		return -1;
	sum_up(p, s, &c);
	return 0;
}

/* So often that group @i takes so long. */
static uint64_t iters_of(const struct groups_run *p, struct sweep *s, int i, double seconds)
{
	struct coll_case shown = among_shown(s, &p->c);
	double once_s = groups_busbw(&p->g, i, &shown, 1) / p->gbps[i];
	double n = seconds / fmax(once_s, 1e-9);

	return n < 1 || isnan(n) ? 1 : n > ITERS_MAX ? ITERS_MAX : (uint64_t)n;
}

/* Everybody has the same numbers, so everybody knows who is low. How many they are. */
static int judge(struct groups_run *p, struct arena *a)
{
	const struct groups_input in = {.g = &p->g,
					.spread = &p->spread,
					.gbps = p->gbps,
					.tried = p->tried,
					.bytes = p->bytes,
					.host_memory = !p->r->dev->available,
					.shared_gpu = p->shares_gpu > 0};
	int low = 0;

	if (groups_judge(&in, a, p->is))
		return 0;
	for (int i = 0; i < p->g.n; i++)
		low += p->is[i].low;
	return low;
}

static int slowest(const struct groups_run *p)
{
	int found = 0;

	for (int i = 0; i < p->g.n; i++)
		if (p->is[i].low && (!p->is[found].low || p->gbps[i] < p->gbps[found]))
			found = i;
	return found;
}

static int all_again(struct groups_run *p, struct sweep *s, struct err *e)
{
	for (int k = 0; k < TRIES && judge(p, p->r->a); k++) {
		if (!s->comm->rank)
			tell_next(p->r, "all groups again", k, TRIES);
		if (try_group(p, s, -1, iters_of(p, s, slowest(p), SECONDS * (k + 1)), e))
			return -1;
		for (int i = 0; i < p->g.n; i++) {
			p->tried[i].again = fmax(p->tried[i].again, p->now[i]);
			p->tried[i].favour = fmax(p->tried[i].favour, p->favour[i]);
		}
	}
	return 0;
}

static int by_turns(struct groups_run *p, struct sweep *s, int i, struct err *e)
{
	double beside[TURNS], alone = NAN;
	int well = p->is[i].best, n = 0;

	while (n < TURNS) {
		if (try_group(p, s, i, iters_of(p, s, i, SECONDS), e))
			return -1;
		alone = fmax(alone, p->favour[i]);
		if (try_group(p, s, well, iters_of(p, s, well, SECONDS), e))
			return -1;
		beside[n++] = p->now[well];
		if (n >= TURNS_LEAST &&
		    slow_is_clear(alone, slow_median(beside, (size_t)n, p->r->a)))
			break;
	}
	p->tried[i].alone = alone;
	p->tried[i].beside = slow_median(beside, (size_t)n, p->r->a);
	return 0;
}

static int alone_again(struct groups_run *p, struct sweep *s, struct err *e)
{
	int low = judge(p, p->r->a), done = 0;

	for (int i = 0; low && i < p->g.n && done < SUSPECTS_MAX; i++) {
		if (!p->is[i].low || p->is[i].best == i)
			continue;
		if (!s->comm->rank)
			tell_next(p->r, "slow groups alone", done, low);
		if (by_turns(p, s, i, e))
			return -1;
		done++;
	}
	return 0;
}

/* --- the end -------------------------------------------------------------------------------- */

static int tell(struct groups_run *p, struct sweep *s, struct err *e)
{
	double *wrong = p->now;
	cJSON *event, *list;

	for (int i = 0; i < p->g.n; i++)
		wrong[i] = i == p->g.of[s->comm->rank] ? (double)s->own_wrong : 0;
	if (sweep_agree(s->comm, wrong, (size_t)p->g.n, OP_SUM, e))
		return -1;
	if (s->comm->rank)
		return 0;
	event = relay_event("groups");
	list = json_array(event, "groups");
	for (int i = 0; i < p->g.n; i++) {
		cJSON *o = json_push_object(list);

		json_num(o, "again", p->tried[i].again);
		json_num(o, "favour", p->tried[i].favour);
		json_num(o, "alone", p->tried[i].alone);
		json_num(o, "beside", p->tried[i].beside);
		json_num(o, "wrong", s->o->check ? wrong[i] : NAN);
	}
	relay_send(p->r->relay, event);
	return 0;
}

/* One that was told to stop does not begin anything. */
static int look_again(struct sweep *s, struct err *e)
{
	struct groups_run *p = run_of(s->groups);
	double over = s->stop && s->stop(s);

	if (sweep_agree(s->comm, &over, 1, OP_MAX, e))
		return -1;
	for (int i = 0; i < p->g.n; i++)
		p->gbps[i] = groups_book_best(&p->book, i);
	if (!(over > 0) && (all_again(p, s, e) || alone_again(p, s, e)))
		return -1;
	return tell(p, s, e);
}

/* --- the beginning -------------------------------------------------------------------------- */

static void spread(struct groups_run *p)
{
	struct rank *r = p->r;
	size_t size = (size_t)r->comm->size;
	const char **keys = arena_alloc(r->a, size * sizeof(*keys));

	for (size_t i = 0; i < size; i++)
		keys[i] = hosts_key(r->a, comm_peer(r->comm, (int)i)->host, r->hardware[i].machine);
	hosts_of(keys, size, r->a, &p->spread);
}

static void take_room(struct groups_run *p)
{
	struct arena *a = p->r->a;
	size_t n = (size_t)p->g.n, size = (size_t)p->g.size;

	groups_book_init(&p->book, &p->g, p->r->sweep.coll, a);
	p->gbps = arena_alloc(a, n * sizeof(*p->gbps));
	p->now = arena_alloc(a, n * sizeof(*p->now));
	p->favour = arena_alloc(a, n * sizeof(*p->favour));
	p->by_rank = arena_alloc(a, 2 * size * sizeof(*p->by_rank));
	p->tried = arena_alloc(a, n * sizeof(*p->tried));
	p->is = arena_alloc(a, n * sizeof(*p->is));
	for (size_t i = 0; i < n; i++)
		p->tried[i] = (struct groups_tried){NAN, NAN, NAN, NAN};
}

int groups_check_root(const struct sweep_opts *o, const struct groups *g, struct err *e)
{
	if (!o->coll->rooted || o->root < g->least)
		return 0;
	return err_set(e, ERR_USAGE, "-r: %d is not one of the %d rank%s of %s group", o->root,
		       g->least, g->least == 1 ? "" : "s",
		       groups_differ(g) ? "the smallest" : "each");
}

int groups_begin(struct rank *r, struct sweep *s, struct err *e)
{
	struct groups_run *p = r->o->groups ? ARENA_NEW(r->a, struct groups_run) : NULL;
	struct groups_spec spec;

	if (!p)
		return 0;
	p->r = r;
	r->all_know = true; /* what is wrong with it, each of them finds */
	if (groups_parse(r->o->groups, r->a, &spec, e) ||
	    groups_of(&spec, r->comm->size, r->a, &p->g, e) ||
	    groups_check_root(&r->sweep, &p->g, e))
		return -1;
	r->all_know = false;
	if (comm_split(r->comm, p->g.of[r->comm->rank], 0, &s->part, e))
		return -1;
	p->shares_gpu = strstr(comm_transport(r->comm), COMM_SHARED_GPU) != NULL;
	if (sweep_agree(r->comm, &p->shares_gpu, 1, OP_MAX, e))
		return -1;
	spread(p);
	take_room(p);
	s->deadline_ns = r->deadline_ns;
	p->row = s->row;
	s->row = on_row;
	s->last = look_again;
	r->groups = s->groups = &p->g;
	return 0;
}

void groups_end(struct sweep *s)
{
	comm_free(s->part);
	s->part = NULL;
}
