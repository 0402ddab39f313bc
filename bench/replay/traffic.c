#include "bench/replay/traffic.h"

#include "lib/core/text.h"

#include <math.h>

/* --- groups ------------------------------------------------------------------------------- */

static bool lie_alike(const struct traffic_group *g, const int *ranks, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (g->n != n || g->ranks[i] - g->ranks[0] != ranks[i] - ranks[0])
			return false;
	return true;
}

static uint32_t find_family(struct traffic *t, const char *name, const int *ranks, uint32_t n)
{
	for (uint32_t i = 0; i < t->families.n; i++) {
		const struct traffic_family *f = &t->families.v[i];

		if (streq(f->name, name) && lie_alike(&t->groups.v[f->sample], ranks, n))
			return i;
	}
	*LIST_ADD(t->a, &t->families) =
		(struct traffic_family){arena_strdup(t->a, name), n, (uint32_t)t->groups.n};
	return (uint32_t)t->families.n - 1;
}

uint32_t traffic_group(struct traffic *t, const char *name, const int *ranks, uint32_t n)
{
	int *own;
	uint32_t family;

	for (uint32_t i = 0; i < t->groups.n; i++) {
		const struct traffic_group *g = &t->groups.v[i];

		if (g->n == n && !memcmp(g->ranks, ranks, n * sizeof(*ranks)) &&
		    streq(t->families.v[g->family].name, name))
			return i;
	}
	own = arena_alloc(t->a, (n + 1) * sizeof(*own));
	memcpy(own, ranks, n * sizeof(*own));
	family = find_family(t, name, ranks, n);
	*LIST_ADD(t->a, &t->groups) = (struct traffic_group){own, n, family};
	return (uint32_t)t->groups.n - 1;
}

bool traffic_has(const struct traffic_group *g, int rank)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->ranks[i] == rank)
			return true;
	return false;
}

uint32_t traffic_turns(const struct traffic *t, const uint32_t *groups, size_t n, uint32_t *ret)
{
	AUTO_FREE uint32_t *next = calloc((size_t)t->ranks + 1, sizeof(*next));
	uint32_t turns = 0;

	for (size_t i = 0; next && i < n; i++) {
		const struct traffic_group *g = &t->groups.v[groups[i]];
		uint32_t turn = 0;

		for (uint32_t k = 0; k < g->n; k++)
			turn = next[g->ranks[k]] > turn ? next[g->ranks[k]] : turn;
		for (uint32_t k = 0; k < g->n; k++)
			next[g->ranks[k]] = turn + 1;
		ret[i] = turn;
		turns = turn + 1 > turns ? turn + 1 : turns;
	}
	return turns;
}

/* --- kinds -------------------------------------------------------------------------------- */

uint32_t traffic_kind(struct traffic *t, const struct traffic_kind *k)
{
	for (uint32_t i = (uint32_t)t->kinds.n; i-- > 0;) {
		const struct traffic_kind *o = &t->kinds.v[i];

		if (o->family == k->family && o->coll == k->coll && o->type == k->type &&
		    o->count == k->count && o->uneven == k->uneven && streq(o->as, k->as))
			return i;
	}
	*LIST_ADD(t->a, &t->kinds) = *k;
	return (uint32_t)t->kinds.n - 1;
}

void traffic_joins(struct traffic *t, uint32_t kind, uint32_t group)
{
	struct traffic_kind *k = &t->kinds.v[kind];

	for (size_t i = k->groups.n; i-- > 0;)
		if (k->groups.v[i] == group)
			return;
	*LIST_ADD(t->a, &k->groups) = group;
}

void traffic_leave_out(struct traffic *t, const char *what, uint64_t n)
{
	for (size_t i = 0; i < t->left.n; i++)
		if (streq(t->left.v[i].what, what)) {
			t->left.v[i].n += n;
			return;
		}
	if (n)
		*LIST_ADD(t->a, &t->left) = (struct traffic_left){arena_strdup(t->a, what), n};
}

struct coll_case traffic_case(const struct traffic *t, const struct traffic_kind *k)
{
	struct coll_case c = {.coll = k->coll,
			      .type = k->type,
			      .op = OP_SUM,
			      .ranks = (int)t->families.v[k->family].n};

	k->coll->sizes(c.ranks, k->count, &c.sizes);
	return c;
}

double traffic_bytes(const struct traffic *t, const struct traffic_kind *k)
{
	struct coll_case c = traffic_case(t, k);

	return (double)coll_bytes(&c);
}

const char *traffic_where(const struct traffic *t, const struct traffic_kind *k, struct arena *a)
{
	const struct traffic_family *f = &t->families.v[k->family];
	const struct traffic_group *g = &t->groups.v[k->groups.n ? k->groups.v[0] : f->sample];
	const char *more = "";

	if ((int)g->n == t->ranks)
		return arena_printf(a, "all %d ranks", t->ranks);
	if (k->groups.n > 1)
		more = arena_printf(a, ", and %zu group%s more", k->groups.n - 1,
				    k->groups.n == 2 ? "" : "s");
	return g->n == 2 ? arena_printf(a, "%s%sranks %d and %d%s%s", f->name, *f->name ? " (" : "",
					g->ranks[0], g->ranks[1], more, *f->name ? ")" : "")
			 : arena_printf(a, "%s%s%u ranks from %d to %d%s%s", f->name,
					*f->name ? " (" : "", g->n, g->ranks[0], g->ranks[g->n - 1],
					more, *f->name ? ")" : "");
}

/* --- the end ------------------------------------------------------------------------------ */

struct ranked {
	double moved;
	uint32_t was;
};

static int by_moved(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->moved != y->moved)
		return x->moved < y->moved ? 1 : -1;
	return (x->was > y->was) - (x->was < y->was);
}

static void renumber_moves(struct traffic *t, const uint32_t *now)
{
	size_t n = 0;

	for (size_t i = 0; i < t->moves.n; i++) {
		struct traffic_move m = t->moves.v[i];

		m.kind = now[m.kind];
		if (m.kind < TRAFFIC_KINDS)
			t->moves.v[n++] = m;
	}
	t->moves.n = n;
}

void traffic_close(struct traffic *t)
{
	size_t n = t->kinds.n, kept = 0;
	struct ranked *r = arena_alloc(t->a, (n + 1) * sizeof(*r));
	uint32_t *now = arena_alloc(t->a, (n + 1) * sizeof(*now));
	struct traffic_kind *v = arena_alloc(t->a, (n + 1) * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		/* what a call costs beside its bytes is as much as some of these */
		r[i] = (struct ranked){t->kinds.v[i].times *
					       (traffic_bytes(t, &t->kinds.v[i]) + (64 << 10)),
				       (uint32_t)i};
	qsort(r, n, sizeof(*r), by_moved);
	for (size_t i = 0; i < n; i++) {
		const struct traffic_kind *k = &t->kinds.v[r[i].was];

		now[r[i].was] = UINT32_MAX;
		if (!(k->times > 0))
			continue;
		if (kept == TRAFFIC_KINDS) {
			traffic_leave_out(t,
					  "of the sizes that move least, since there are too many",
					  (uint64_t)ceil(k->times * (double)k->groups.n));
			continue;
		}
		now[r[i].was] = (uint32_t)kept;
		v[kept++] = *k;
	}
	t->kinds.v = v;
	t->kinds.n = kept;
	t->kinds.cap = n + 1;
	renumber_moves(t, now);
}
