/*
 * Which ends to mend. A blocked pair is mended at either end: by letting it in
 * where it goes, or out where it comes from. The smallest set of such rules is
 * a minimum vertex cover of the graph of blocked pairs, which in a bipartite
 * graph follows from a maximum matching (König's theorem).
 */
#include "probes/port/mesh_judge.h"

struct cover {
	const struct mesh *m;
	enum port_cause cause;
	bool *in, *out; /* a rule at this host, for what comes in or goes out */
	/* the matching: partner of each, or n */
	size_t *of_from, *of_to;
	bool *seen_from, *seen_to;
};

static bool is_edge(const struct cover *v, size_t from, size_t to)
{
	const struct mesh_cell *c = mesh_at(v->m, from, to);

	return mesh_cell_is_bad(c) && c->cause == v->cause && !c->rule;
}

/* Finds @from a partner, moving others on if need be (an augmenting path). */
static bool augment(struct cover *v, size_t from)
{
	for (size_t to = 0; to < v->m->n; to++) {
		if (v->seen_to[to] || !is_edge(v, from, to))
			continue;
		v->seen_to[to] = true;
		if (v->of_to[to] == v->m->n || augment(v, v->of_to[to])) {
			v->of_to[to] = from;
			v->of_from[from] = to;
			return true;
		}
	}
	return false;
}

/* What alternating paths reach from @to, which has no partner. */
static void mark_from(struct cover *v, size_t to)
{
	if (v->seen_to[to])
		return;
	v->seen_to[to] = true;
	for (size_t from = 0; from < v->m->n; from++) {
		if (!is_edge(v, from, to) || v->seen_from[from])
			continue;
		v->seen_from[from] = true;
		if (v->of_from[from] < v->m->n)
			mark_from(v, v->of_from[from]);
	}
}

/* Of several smallest covers the one with most rules for what comes in: people think that way. */
static void find_cover(struct cover *v)
{
	size_t n = v->m->n;

	for (size_t i = 0; i < n; i++)
		v->of_from[i] = v->of_to[i] = n;
	for (size_t from = 0; from < n; from++) {
		memset(v->seen_to, 0, n * sizeof(*v->seen_to));
		(void)augment(v, from);
	}
	memset(v->seen_to, 0, n * sizeof(*v->seen_to));
	memset(v->seen_from, 0, n * sizeof(*v->seen_from));
	for (size_t to = 0; to < n; to++)
		if (v->of_to[to] == n)
			mark_from(v, to);
	for (size_t i = 0; i < n; i++) {
		v->out[i] = v->seen_from[i];
		v->in[i] = v->of_to[i] < n && !v->seen_to[i];
	}
}

/* Some ends of a pair are to blame whatever the arithmetic says. */
static void settle(struct cover *v)
{
	bool own = v->cause == CAUSE_OWN_FIREWALL || v->cause == CAUSE_OWN_ROUTE ||
		   v->cause == CAUSE_NO_ROUTE || v->cause == CAUSE_NEIGHBOURS ||
		   v->cause == CAUSE_OWN_RP_FILTER || v->cause == CAUSE_OTHER_WAY ||
		   v->cause == CAUSE_ROUTER || v->cause == CAUSE_PATHS ||
		   v->cause == CAUSE_OWN_ANSWER || v->cause == CAUSE_OWN_ND ||
		   port_cause_option(v->cause);

	if (v->cause != CAUSE_DROPPED && v->cause != CAUSE_PATH_FIREWALL &&
	    !mesh_is_bulk(v->cause) && v->cause != CAUSE_LOST_ANSWER && v->cause != CAUSE_NOBODY &&
	    !port_cause_is_stranger(v->cause)) {
		for (size_t from = 0; from < v->m->n; from++)
			for (size_t to = 0; to < v->m->n; to++)
				if (is_edge(v, from, to))
					*(own ? &v->out[from] : &v->in[to]) = true;
		return;
	}
	find_cover(v);
}

void mesh_cover(const struct mesh *m, enum port_cause cause, struct mesh_cover *ret)
{
	struct cover v = {.m = m, .cause = cause};
	size_t n = m->n;

	v.of_from = arena_alloc(m->a, 2 * n * sizeof(*v.of_from));
	v.of_to = v.of_from + n;
	v.in = arena_alloc(m->a, 4 * n);
	v.out = v.in + n;
	v.seen_from = v.out + n;
	v.seen_to = v.seen_from + n;
	settle(&v);
	*ret = (struct mesh_cover){v.in, v.out};
}
