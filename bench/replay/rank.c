/* One rank's part in doing again what was recorded: first each kind by itself, then everything in
 * its order. */
#include "bench/replay/run.h"
#include "lib/core/units.h"

#include <math.h>

/* Bytes: beyond, time grows with the size. */
static const double LARGEST = 1 << 30;
/* Of the time, for kinds; the rest is for the order. */
static const double FOR_KINDS = 0.6;

static double left_s(uint64_t end_ns)
{
	uint64_t now = now_ns();

	return end_ns > now ? (double)(end_ns - now) / 1e9 : 0;
}

int run_share(struct replay *p, uint64_t end_ns, struct err *e)
{
	p->own.left_s = left_s(end_ns);
	return rdzv_all_gather(p->r->w->rdzv, &p->own, sizeof(p->own), p->all, e);
}

void run_tell(struct replay *p, cJSON *event)
{
	if (p->r->comm->rank)
		cJSON_Delete(event);
	else
		relay_send(p->r->relay, event);
}

/* --- what is to be done ------------------------------------------------------------------ */

static int receive(struct replay *p, struct err *e)
{
	static const char key[] = "replay";
	struct rank *r = p->r;
	const void *text = r->o->replay;
	size_t n = text ? strlen(text) : 0;

	if (!r->comm->rank && rdzv_set(r->w->rdzv, key, text, n, e))
		return -1;
	if (rdzv_get(r->w->rdzv, key, r->a, &text, &n, e))
		return -1;
	r->all_know = true; /* whatever is wrong with it, each of them finds */
	if (traffic_unpack(text, n, r->a, &p->t))
		return err_set(e, ERR_SYS, "rank 0 has no recording that could be done again");
	if (p->t.ranks != r->w->world.size) {
		err_set(e, ERR_USAGE, "the recording is of %d ranks, and here are %d", p->t.ranks,
			r->w->world.size);
		return err_hint(e, "start %d ranks: its groups are of these", p->t.ranks);
	}
	r->all_know = false;
	return 0;
}

/* What is larger than memory has room for is cut; and beyond LARGEST time grows with the size. */
static int fit_sizes(struct replay *p, struct err *e)
{
	struct sweep_opts *o = &p->r->sweep;
	double most = 1;

	for (size_t i = 0; i < p->t.kinds.n; i++)
		most = fmax(most, traffic_bytes(&p->t, &p->t.kinds.v[i]));
	o->min = 1;
	o->max = most < LARGEST ? (uint64_t)most : (uint64_t)LARGEST;
	o->adaptive = false;
	if (rank_fit_memory(p->r, e))
		return -1;
	p->scale = arena_alloc(p->r->a, (p->t.kinds.n + 1) * sizeof(*p->scale));
	for (size_t i = 0; i < p->t.kinds.n; i++) {
		struct traffic_kind *k = &p->t.kinds.v[i];
		double bytes = traffic_bytes(&p->t, k), room = (double)o->max;

		p->scale[i] = bytes > room ? bytes / room : 1;
		k->count = (size_t)((double)k->count / p->scale[i]);
		k->count += !k->count;
	}
	return 0;
}

/* --- communicators ------------------------------------------------------------------------- */

static bool is_world(const struct replay *p, const struct traffic_group *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->ranks[i] != (int)i)
			return false;
	return (int)g->n == p->t.ranks;
}

/* The groups of one turn, which share no rank, are split off at once. */
static int split(struct replay *p, const uint32_t *groups, const uint32_t *turn, size_t n,
		 uint32_t now, struct err *e)
{
	int colour = COMM_NO_COLOUR, key = 0;
	struct comm *part;

	for (size_t i = 0; i < n; i++) {
		const struct traffic_group *g = &p->t.groups.v[groups[i]];

		for (uint32_t k = 0; turn[i] == now && k < g->n; k++)
			if (g->ranks[k] == p->r->comm->rank) {
				colour = (int)groups[i];
				key = (int)k;
			}
	}
	if (comm_split(p->r->comm, colour, key, &part, e))
		return -1;
	if (!part)
		return 0;
	*LIST_ADD(p->r->a, &p->parts) = part;
	p->comms[colour] = part;
	return 0;
}

static int make_comms(struct replay *p, struct err *e)
{
	size_t all = p->t.groups.n, n = 0;
	uint32_t *groups = arena_alloc(p->r->a, (all + 1) * sizeof(*groups));
	uint32_t *turn = arena_alloc(p->r->a, (all + 1) * sizeof(*turn)), turns;

	p->comms = arena_alloc(p->r->a, (all + 1) * sizeof(struct comm *));
	for (uint32_t i = 0; i < all; i++)
		if (is_world(p, &p->t.groups.v[i]))
			p->comms[i] = p->r->comm;
		else
			groups[n++] = i;
	turns = traffic_turns(&p->t, groups, n, turn);
	for (uint32_t i = 0; i < turns; i++)
		if (split(p, groups, turn, n, i, e))
			return -1;
	return 0;
}

/* --- the whole -------------------------------------------------------------------------- */

static int do_again(struct replay *p, struct err *e)
{
	uint64_t time = p->r->o->sweep.within_ns, start = now_ns();

	p->kinds_end_ns = start + (uint64_t)((double)time * (p->t.moves.n ? FOR_KINDS : 1));
	p->end_ns = start + time;
	return make_comms(p, e) || run_kinds(p, e) || run_in_order(p, e) ? -1 : 0;
}

int rank_replay(struct rank *r, void (*ready)(struct rank *r), struct err *e)
{
	struct replay p = {.r = r};
	int result;

	if (receive(&p, e) || fit_sizes(&p, e))
		return -1;
	ready(r);
	p.o = (struct sweep_opts){.iters = 1,
				  .aggregate = 1,
				  .check = r->sweep.check,
				  .average = AVERAGE_MAX,
				  .max = r->sweep.max};
	p.s = (struct sweep){.o = &p.o, .comm = r->comm, .dev = r->dev};
	p.all = arena_alloc(r->a, (size_t)r->comm->size * sizeof(*p.all));
	result = sweep_take_room(&p.s, e) || do_again(&p, e) ? -1 : 0;
	r->all_know |= p.s.all_know;
	for (size_t i = p.parts.n; i-- > 0;)
		comm_free(p.parts.v[i]);
	p.s.comm = r->comm;
	sweep_give_room(&p.s);
	return result;
}
