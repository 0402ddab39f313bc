/* What to call pairs of hosts whose connections fared alike. */
#include "probes/port/mesh_idle.h"

void mesh_idle_add(const struct mesh *m, index_list *l, size_t at)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i] == at)
			return;
	*LIST_ADD(m->a, l) = at;
}

index_list mesh_idle_ends(const struct mesh *m, const index_list *pairs)
{
	index_list ret = {0};

	for (size_t i = 0; i < pairs->n; i++) {
		mesh_idle_add(m, &ret, pairs->v[i] / m->n);
		mesh_idle_add(m, &ret, pairs->v[i] % m->n);
	}
	return ret;
}

enum side { NO_SIDE, FIRST, SECOND };

/* Gives sides to whoever has a pair with one that has a side: was there anybody? */
static bool spread(const struct mesh *m, const index_list *pairs, enum side *sides)
{
	bool any = false;

	for (size_t i = 0; i < pairs->n; i++) {
		enum side *x = &sides[pairs->v[i] / m->n], *y = &sides[pairs->v[i] % m->n];

		if (!*x == !*y)
			continue;
		*(*x ? y : x) = (*x ?: *y) == FIRST ? SECOND : FIRST;
		any = true;
	}
	return any;
}

/* Are they all between two sides, as of a router? Then who is on which. */
static bool are_between(const struct mesh *m, const index_list *pairs, enum side *sides)
{
	sides[pairs->v[0] / m->n] = FIRST;
	while (spread(m, pairs, sides))
		;
	for (size_t i = 0; i < pairs->n; i++)
		if (!sides[pairs->v[i] / m->n] ||
		    sides[pairs->v[i] / m->n] == sides[pairs->v[i] % m->n])
			return false;
	return true;
}

/* The smaller one is rather to blame. */
static enum side smaller(const struct mesh *m, const enum side *sides)
{
	size_t n[SECOND + 1] = {0};

	for (size_t i = 0; i < m->n; i++)
		n[sides[i]]++;
	return n[SECOND] < n[FIRST] ? SECOND : FIRST;
}

static const char *names_on(const struct mesh *m, const enum side *sides, enum side side)
{
	index_list l = {0};

	for (size_t i = 0; i < m->n; i++)
		if (sides[i] == side)
			*LIST_ADD(m->a, &l) = i;
	return mesh_names_of(m, &l);
}

const char *mesh_idle_who(const struct mesh *m, const index_list *pairs)
{
	const size_t from = pairs->v[0] / m->n, to = pairs->v[0] % m->n;
	enum side *sides = arena_alloc(m->a, m->n * sizeof(*sides));
	const index_list ends = mesh_idle_ends(m, pairs);
	enum side first;

	if (pairs->n == 1)
		return arena_printf(m->a, "%s to %s", m->nodes[from].name, m->nodes[to].name);
	if (are_between(m, pairs, sides)) {
		first = smaller(m, sides);
		return arena_printf(m->a, "%s and %s", names_on(m, sides, first),
				    names_on(m, sides, first == FIRST ? SECOND : FIRST));
	}
	if (pairs->n == ends.n * (ends.n - 1))
		return mesh_names_of(m, &ends);
	return arena_printf(m->a, "%zu pairs of %s", pairs->n, mesh_names_of(m, &ends));
}
