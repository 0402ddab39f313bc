/*
 * A host that publishes an address which leads to none of the others, because NCCL's settings there
 * chose that card. What it looks like differs from peer to peer: silence, no route, a router's
 * "no". It is one cause, and no rule and no route is to be mended.
 */
#include "probes/port/mesh_judge.h"

#include "lib/core/quote.h"

/* Those who asked it in vain; what a rule is known to stop is that rule's. */
static index_list in_vain(const struct mesh *m, size_t at, size_t *ret_asked)
{
	index_list ret = {0};

	*ret_asked = 0;
	for (size_t i = 0; i < m->n; i++) {
		const struct mesh_cell *c = mesh_at(m, i, at);

		*ret_asked += c->row != NULL;
		if (c->row && c->bad && !c->rule)
			*LIST_ADD(m->a, &ret) = i;
	}
	return ret;
}

/* Then it leads there, and what another meets is a rule, or that one's route. */
static bool is_reached(const struct mesh *m, size_t at)
{
	for (size_t i = 0; i < m->n; i++)
		if (i != at && mesh_has_met(m, i, at))
			return true;
	return false;
}

/* Of the ways between it and these, both of each pair: how many a host's own fault explains. */
static size_t explained(const struct mesh *m, size_t at, const index_list *others)
{
	size_t n = 0;

	for (size_t i = 0; i < others->n; i++)
		n += (mesh_at(m, others->v[i], at)->cause == CAUSE_LINK) +
		     (mesh_at(m, at, others->v[i])->cause == CAUSE_LINK);
	return n;
}

/* Some may be explained already: two that are led astray have a pair in common. */
static struct finding *say(struct mesh *m, size_t at, const index_list *others, size_t *ret_spoilt)
{
	size_t before = explained(m, at, others);
	struct finding *f = mesh_say_link(m, "mesh.in", at, others);

	for (size_t i = 0; i < others->n; i++)
		mesh_edit(m, others->v[i], at)->cause = CAUSE_LINK;
	*ret_spoilt = explained(m, at, others) - before;
	return f;
}

static void judge(struct mesh *m, size_t at)
{
	const struct mesh_node *x = &m->nodes[at];
	size_t asked, spoilt;
	const index_list others = in_vain(m, at, &asked);
	struct addr_text text;
	struct finding *f;

	if (!others.n || is_reached(m, at))
		return;
	f = say(m, at, &others, &spoilt);
	finding_set(f, ST_FAIL,
		    "is not reached from %s at %s, which spoils %s: NCCL's settings there chose "
		    "%s, which leads to none of the others, and %s does (%s)",
		    others.n == asked ? "any other node" : mesh_names_of(m, &others),
		    addr_print(&x->addr, &text), mesh_pairs(m, spoilt), x->iface ?: "it", x->astray,
		    x->told);
	finding_expect(f, "an interface that leads to the others");
	finding_fix(f, "export NCCL_SOCKET_IFNAME=%s   # on %s, in place of what is set there",
		    shell_quote(m->a, arena_printf(m->a, "=%s", x->astray)), x->name);
}

void mesh_astray(struct mesh *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->nodes[i].astray && m->nodes[i].told)
			judge(m, i);
}
