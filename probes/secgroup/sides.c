/* The groups of one side of the pairs, and the rules that they lack. */
#include "probes/secgroup/say.h"

static bool same(const struct sg_side *s, bool is_egress, const struct sg_class *owner,
		 const struct sg_class *peer)
{
	return s->is_egress == is_egress && streq(s->owner->groups, owner->groups) &&
	       streq(s->peer->groups, peer->groups);
}

static void spread(struct sg_side *s, const struct sg_pair *p)
{
	const port_spans *closed = &p->closed[s->is_egress ? SG_EGRESS : SG_INGRESS];

	if (closed->n && !s->closed.n) {
		s->closed = *closed;
		s->owner = s->is_egress ? p->from : p->to;
		s->peer = s->is_egress ? p->to : p->from;
		s->pair = p;
	}
	s->is_ip |= p->is_ip;
	s->unread |= s->is_egress ? p->unread_out : p->unread_in;
	s->all &= s->is_egress ? p->all_out : p->all_in;
	s->by_group &= s->is_egress ? p->efa_out : p->efa_in;
	if (p->efa == SG_EFA_YES || s->efa == SG_EFA_NO)
		s->efa = p->efa;
}

/* Pairs whose groups are the same are one case, seen from the sender or the receiver. */
static void add_side(struct sg_training *t, const struct sg_pair *p, bool is_egress)
{
	const struct sg_class *owner = is_egress ? p->from : p->to;
	const struct sg_class *peer = is_egress ? p->to : p->from;
	struct sg_side *s;

	for (size_t i = 0; i < t->sides.n; i++)
		if (same(&t->sides.v[i], is_egress, owner, peer)) {
			spread(&t->sides.v[i], p);
			return;
		}
	s = LIST_ADD(t->m->a, &t->sides);
	*s = (struct sg_side){.is_egress = is_egress,
			      .owner = owner,
			      .peer = peer,
			      .pair = p,
			      .all = true,
			      .by_group = true,
			      .efa = p->efa};
	spread(s, p);
}

const char *sg_side_subject(struct arena *a, const struct sg_side *s)
{
	if (streq(s->owner->groups, s->peer->groups))
		return s->owner->groups;
	return arena_printf(a, "%s %s %s", s->owner->groups, s->is_egress ? "to" : "from",
			    s->peer->groups);
}

static bool names_itself(const struct sg_model *m, const char *group)
{
	const struct sg_group *g = sg_group_find(m, group);

	for (size_t k = 0; g && k < g->rules.n; k++)
		if (g->rules.v[k].peer == SG_GROUP && streq(g->rules.v[k].peer_text, group))
			return true;
	return false;
}

/* Of the groups of @n that @other carries, too (NULL: of all), the one that gets a rule: best a
 * cluster's own, which names itself; who else carries the others we do not know. NULL: none. */
static const char *choose_group(const struct sg_model *m, const struct sg_node *n,
				const struct sg_node *other)
{
	const char *first = NULL;

	for (size_t i = 0; i < n->groups.n; i++) {
		const char *group = n->groups.v[i];

		if (other && !sg_node_has_group(other, group))
			continue;
		if (names_itself(m, group))
			return group;
		first = first ? first : group;
	}
	return first;
}

static bool stops(const struct sg_side *s)
{
	return s->closed.n || (s->efa == SG_EFA_YES && !s->by_group);
}

struct sg_fix sg_side_fix(const struct sg_training *t, const struct sg_side *s)
{
	const struct sg_node *owner = s->owner->node, *peer = s->peer->node;
	const char *both = choose_group(t->m, owner, peer);

	return (struct sg_fix){.group = both ? both : choose_group(t->m, owner, NULL),
			       .peer = both ? both : choose_group(t->m, peer, NULL),
			       .is_egress = s->is_egress,
			       .stops = stops(s)};
}

bool sg_side_is_unknown(const struct sg_side *s)
{
	return (s->owner->unknown && (s->closed.n || !s->all)) || (s->unread && !s->closed.n);
}

/* --- what is missing ------------------------------------------------------------- */

static void want(struct sg_training *t, sg_fix_list *l, struct sg_fix fix)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i].group, fix.group) && streq(l->v[i].peer, fix.peer) &&
		    l->v[i].is_egress == fix.is_egress) {
			l->v[i].stops |= fix.stops;
			return;
		}
	*LIST_ADD(t->m->a, l) = fix;
}

/* Has this group by itself a rule for all traffic that names a group of the peer? */
static bool does_alone(const struct sg_training *t, const char *group, const struct sg_side *s)
{
	const struct sg_group *g = sg_group_find(t->m, group);

	for (size_t k = 0; g && k < g->rules.n; k++)
		if (g->rules.v[k].is_egress == s->is_egress && g->rules.v[k].proto == -1 &&
		    g->rules.v[k].peer == SG_GROUP &&
		    sg_node_has_group(s->peer->node, g->rules.v[k].peer_text))
			return true;
	return false;
}

/* One group does it for EFA, which was seen to need it in every group of an interface. */
static void find_wishes(struct sg_training *t, const struct sg_side *s)
{
	const str_list *groups = &s->owner->node->groups;

	if (!s->by_group || s->efa == SG_EFA_NO || s->owner->unknown)
		return;
	for (size_t k = 0; k < groups->n; k++)
		if (!does_alone(t, groups->v[k], s))
			want(t, &t->wishes,
			     (struct sg_fix){.group = groups->v[k],
					     .peer = sg_side_fix(t, s).peer,
					     .is_egress = s->is_egress});
}

static void find_fixes(struct sg_training *t, const struct sg_side *s)
{
	if (s->owner->unknown || s->by_group)
		return;
	if (stops(s) || (!s->unread && (s->efa != SG_EFA_NO || !s->all)))
		want(t, &t->fixes, sg_side_fix(t, s));
}

void sg_find_sides(struct sg_training *t)
{
	for (size_t i = 0; i < t->pairs.n; i++)
		if (t->pairs.v[i].is_ip || t->pairs.v[i].efa != SG_EFA_NO) {
			add_side(t, &t->pairs.v[i], false);
			add_side(t, &t->pairs.v[i], true);
		}
	for (size_t i = 0; i < t->sides.n; i++) {
		find_fixes(t, &t->sides.v[i]);
		find_wishes(t, &t->sides.v[i]);
	}
}
