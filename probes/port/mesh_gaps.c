/*
 * Pairs that failed, as gaps: at a host what fails there alike, and of many hosts with the same
 * fault one. A rule is mended where it is; of whatever else is silent it is the fewest ends that
 * would mend it all (mesh_cover.c).
 */
#include "probes/port/mesh_judge.h"
#include "probes/tally/alike.h"

/* ---- the rules, as text ---- */
/* Each host tells a rule once, so at one host the same rules are the same objects. */
static bool same_rules(const struct mesh_cell *x, const struct mesh_cell *y)
{
	const struct mesh_more *i = x->more, *k = y->more;

	if (x->rule != y->rule)
		return false;
	for (; i && k && i->rule == k->rule; i = i->next)
		k = k->next;
	return !i && !k;
}

static const char *stops_text(const struct mesh *m, const struct mesh_cell *c)
{
	const char *text = c->rule ? c->rule->text : NULL;

	for (const struct mesh_more *i = c->more; i && text; i = i->next)
		text = arena_printf(m->a, "%s; and %s", text, i->rule->text);
	return text;
}

static bool same_stops(const struct mesh *m, const struct mesh_gap *x, const struct mesh_gap *y)
{
	if (!x->stops || !y->stops)
		return x->stops == y->stops;
	return streq(x->stops, y->stops) ||
	       streq(alike_no_handles(m->a, x->stops), alike_no_handles(m->a, y->stops));
}

/* ---- at one host ---- */
static struct mesh_gap *gap_for(const struct mesh *m, gap_list *l, const struct mesh_cell *c,
				size_t host, bool in)
{
	struct mesh_gap *x;

	for (size_t i = 0; i < l->n; i++)
		if (same_rules(l->v[i].example, c))
			return &l->v[i];
	x = LIST_ADD(m->a, l);
	*x = (struct mesh_gap){.in = in, .alike = true, .example = c, .stops = stops_text(m, c)};
	*LIST_ADD(m->a, &x->hosts) = host;
	return x;
}

/* @covered: what no rule is known to stop is to be mended at this end of it. */
static void collect(const struct mesh *m, enum port_cause cause, size_t host, bool in, bool covered,
		    gap_list *ret)
{
	size_t known = 0;

	*ret = (gap_list){0};
	for (size_t i = 0; i < m->n; i++) {
		size_t from = in ? i : host, to = in ? host : i;
		const struct mesh_cell *c = mesh_at(m, from, to);
		struct mesh_gap *x;

		known += i != host && c->row;
		if (!mesh_cell_is_bad(c) || c->cause != cause ||
		    !(c->rule ? mesh_rule_is_in(c->rule) == in : covered))
			continue;
		x = gap_for(m, ret, c, host, in);
		*LIST_ADD(m->a, &x->others) = i;
		x->ports_bad += c->bad;
		x->ports_all += m->nodes[to].ports.n;
		if (c->cut && (!x->fits || c->path_mtu < x->fits))
			x->fits = c->path_mtu;
	}
	for (size_t i = 0; i < ret->n; i++) {
		struct mesh_gap *x = &ret->v[i];

		x->all = x->others.n == known;
		x->of_first = x->others;
		mesh_commands(m, x, cause, &x->commands);
	}
}

/* ---- at many ---- */
static size_t next_but(const index_list *l, size_t i, size_t self)
{
	return i < l->n && l->v[i] == self ? i + 1 : i;
}

/* Of two hosts the same others, but for the two themselves. */
static bool same_others(const struct mesh_gap *x, const struct mesh_gap *y)
{
	const index_list *v = &x->of_first, *w = &y->of_first;
	size_t i = next_but(v, 0, y->hosts.v[0]), k = next_but(w, 0, x->hosts.v[0]);

	while (i < v->n && k < w->n && v->v[i] == w->v[k]) {
		i = next_but(v, i + 1, y->hosts.v[0]);
		k = next_but(w, k + 1, x->hosts.v[0]);
	}
	return i == v->n && k == w->n;
}

/* What lets somebody in there, where the rules could not be read: another one with another manager.
 */
static bool same_manager(const struct mesh *m, const struct mesh_gap *x, const struct mesh_gap *y)
{
	const char *v = m->nodes[x->hosts.v[0]].rules_fix, *w = m->nodes[y->hosts.v[0]].rules_fix;

	return streq(v ?: "", w ?: "");
}

/* What the same commands mend is one fault; what none does, where it is as large. */
static bool same_fault(const struct mesh *m, const struct mesh_gap *x, const struct mesh_gap *y)
{
	if (x->in != y->in || x->fits != y->fits ||
	    (x->ports_bad < x->ports_all) != (y->ports_bad < y->ports_all) ||
	    !tally_same_fix(&x->commands, &y->commands) || !same_stops(m, x, y))
		return false;
	return x->commands.n ||
	       (same_manager(m, x, y) && ((x->all && y->all) || same_others(x, y)));
}

/* Both are in the order of hosts. */
static index_list merged(const struct mesh *m, const index_list *x, const index_list *y)
{
	index_list ret = {0};

	for (size_t i = 0, k = 0; i < x->n || k < y->n;) {
		size_t a = i < x->n ? x->v[i] : SIZE_MAX, b = k < y->n ? y->v[k] : SIZE_MAX;

		*LIST_ADD(m->a, &ret) = a < b ? a : b;
		i += a <= b;
		k += b <= a;
	}
	return ret;
}

static void join(const struct mesh *m, struct mesh_gap *to, const struct mesh_gap *x)
{
	to->alike &= same_others(to, x);
	*LIST_ADD(m->a, &to->hosts) = x->hosts.v[0];
	if (to->others.n < m->n)
		to->others = merged(m, &to->others, &x->others);
	to->all &= x->all;
	to->ports_bad += x->ports_bad;
	to->ports_all += x->ports_all;
	if (to->stops && !streq(to->stops, x->stops))
		to->stops = alike_no_handles(m->a, to->stops);
}

static bool has_edge(const struct mesh *m, enum port_cause cause)
{
	MESH_EACH (m, from, to)
		if (mesh_at(m, from, to)->cause == cause && mesh_cell_is_bad(mesh_at(m, from, to)))
			return true;
	return false;
}

void mesh_gaps(const struct mesh *m, enum port_cause cause, gap_list *ret)
{
	struct mesh_cover v;

	*ret = (gap_list){0};
	if (!has_edge(m, cause))
		return;
	mesh_cover(m, cause, &v);
	for (size_t i = 0; i < 2 * m->n; i++) {
		bool in = i < m->n;
		gap_list here;

		collect(m, cause, i % m->n, in, (in ? v.in : v.out)[i % m->n], &here);
		for (size_t h = 0; h < here.n; h++) {
			size_t k = 0;

			while (k < ret->n && !same_fault(m, &ret->v[k], &here.v[h]))
				k++;
			if (k == ret->n)
				*LIST_ADD(m->a, ret) = here.v[h];
			else
				join(m, &ret->v[k], &here.v[h]);
		}
	}
}
