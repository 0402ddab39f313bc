/* What ranks called by itself becomes what they did together: its size, its kind, its times. */
#include "bench/replay/dumps.h"
#include "bench/replay/named.h"

#include <math.h>

enum { KINDS_KEPT = 4096 /* of the sizes of one recording; a training with more has none twice */ };

bool dumps_is_message(const char *op)
{
	return starts_with(op, "send ") || starts_with(op, "recv ");
}

const char *dumps_type(const struct reading *r, const struct flight_entry *e)
{
	const char *in = flight_said(r->f, e->in_types);

	return *in ? in : flight_said(r->f, e->out_types);
}

static int by_key(const void *a, const void *b, void *refs)
{
	const struct ref *v = refs, *x = &v[*(const uint32_t *)a], *y = &v[*(const uint32_t *)b];
	const uint32_t mine[] = {x->group, x->seq, x->part, x->dump},
		       its[] = {y->group, y->seq, y->part, y->dump};

	for (size_t i = 0; i < ARRAY_LEN(mine); i++)
		if (mine[i] != its[i])
			return mine[i] < its[i] ? -1 : 1;
	return 0;
}

static bool is_same(const struct ref *x, const struct ref *y)
{
	return x->group == y->group && x->seq == y->seq && x->part == y->part;
}

/* The kind of what @n ranks called together: of sizes that differ among them the largest. */
static uint32_t kind_of(struct reading *r, const uint32_t *refs, size_t n)
{
	const struct ref *first = &r->refs.v[refs[0]];
	const struct flight_entry *e = dumps_entry(r, first);
	const struct traffic_group *g = &r->t->groups.v[first->group];
	struct traffic_kind k = {.family = g->family, .type = DT_FLOAT};
	struct named_op op = {"send", coll_find("broadcast")};
	int64_t in = 0, out = 0;
	size_t each = 1;

	if (!dumps_is_message(flight_said(r->f, e->op)))
		(void)named_op(flight_said(r->f, e->op), &op);
	for (size_t i = 0; i < n; i++) {
		const struct flight_entry *x = dumps_entry(r, &r->refs.v[refs[i]]);
		int64_t x_in = r->f->words.v[x->in].elements,
			x_out = r->f->words.v[x->out].elements;

		(void)named_type(dumps_type(r, x), &k.type, &each);
		in = x_in > in ? x_in : in;
		out = x_out > out ? x_out : out;
	}
	k.as = op.as;
	k.coll = op.coll;
	k.count = named_count(&op, (size_t)in * each, (size_t)out * each, g->n, &k.uneven);
	if (streq(k.as, "barrier"))
		k.count = 1;
	if (r->t->kinds.n >= KINDS_KEPT || !k.count || k.count >> TRAFFIC_COUNT_BITS)
		return UINT32_MAX;
	return traffic_kind(r->t, &k);
}

/* To or from one rank: others have done their part before it is over, and it is as long as the
 * longest of them. */
static bool is_rooted(const struct reading *r, uint32_t kind)
{
	return kind != UINT32_MAX && r->t->kinds.v[kind].coll->rooted;
}

static void take_times(struct reading *r, const uint32_t *refs, size_t n, bool rooted)
{
	float least = -1, most = -1, sum = 0;
	size_t timed = 0;

	for (size_t i = 0; i < n; i++) {
		float ms = dumps_entry(r, &r->refs.v[refs[i]])->duration_ms;

		if (ms <= 0)
			continue;
		least = timed && least < ms ? least : ms;
		most = ms > most ? ms : most;
		sum += ms;
		timed++;
	}
	if (rooted) {
		least = most;
		sum = most * (float)timed;
	}
	*LIST_ADD(r->a, &r->us) = least * 1e3F;
	*LIST_ADD(r->a, &r->us) = timed ? sum / (float)timed * 1e3F : -1;
}

struct timed {
	uint32_t kind;
	float us;
};

static int by_kind(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->us > y->us) - (x->us < y->us);
}

/* The median of each kind's events that have one; @which: 0 the shortest, 1 the mean. */
static void fill_times(struct reading *r, size_t which)
{
	struct timed *v = arena_alloc(r->a, (r->events.n + 1) * sizeof(*v));
	size_t n = 0, to;

	for (uint32_t k = 0; k < r->t->kinds.n; k++)
		*(which ? &r->t->kinds.v[k].waited_us : &r->t->kinds.v[k].then_us) = NAN;
	for (size_t i = 0; i < r->events.n; i++)
		if (r->events.v[i].kind != UINT32_MAX && r->us.v[2 * i + which] > 0)
			v[n++] = (struct timed){r->events.v[i].kind, r->us.v[2 * i + which]};
	qsort(v, n, sizeof(*v), by_kind);
	for (size_t i = 0; i < n; i = to) {
		struct traffic_kind *k = &r->t->kinds.v[v[i].kind];

		for (to = i; to < n && v[to].kind == v[i].kind; to++)
			;
		*(which ? &k->waited_us : &k->then_us) = (double)v[i + (to - i) / 2].us;
	}
}

void dumps_meet(struct reading *r)
{
	size_t n = r->refs.n, to;

	r->sorted = arena_alloc(r->a, (n + 1) * sizeof(*r->sorted));
	for (size_t i = 0; i < n; i++)
		r->sorted[i] = (uint32_t)i;
	qsort_r(r->sorted, n, sizeof(*r->sorted), by_key, r->refs.v);
	for (size_t i = 0; i < n; i = to) {
		struct order_event *e = LIST_ADD(r->a, &r->events);

		for (to = i; to < n && is_same(&r->refs.v[r->sorted[i]], &r->refs.v[r->sorted[to]]);
		     to++)
			r->refs.v[r->sorted[to]].event = (uint32_t)r->events.n - 1;
		e->group = r->refs.v[r->sorted[i]].group;
		e->kind = kind_of(r, r->sorted + i, to - i);
		take_times(r, r->sorted + i, to - i, is_rooted(r, e->kind));
		if (e->kind == UINT32_MAX)
			traffic_leave_out(r->t,
					  "of no size, of a size beyond all memory, or of more "
					  "sizes than can be told",
					  1);
		else
			traffic_joins(r->t, e->kind, e->group);
	}
	fill_times(r, 0);
	fill_times(r, 1);
}
