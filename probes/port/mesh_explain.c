/* Why a pair failed, as its two hosts know it: rules of theirs, answers that got lost, ways back
 * that lead elsewhere. What ranks say of that, none of it trusted, put to the pairs. */
#include "lib/report/json.h"
#include "probes/port/mesh.h"

/* A kernel has said that it was a rule, of whichever of the two. */
static bool is_a_rules(enum port_cause cause)
{
	return cause == CAUSE_HOST_FIREWALL || cause == CAUSE_LIMITED ||
	       cause == CAUSE_OWN_FIREWALL;
}

/* A rule for the question itself outweighs one for the answer. */
static bool may_have_rule(const struct mesh_cell *c, const struct mesh_rule *rule)
{
	enum mesh_hook hook = rule->hook;
	bool asked = hook == MESH_IN || hook == MESH_OUT;
	bool silent = c->cause == CAUSE_DROPPED || c->cause == CAUSE_LOST_ANSWER;
	bool answered = c->cause == CAUSE_OWN_ANSWER || c->cause == CAUSE_THEIR_ANSWER;

	if (!c->row || !c->bad)
		return false;
	/* What the asker's own rule drops is dropped before anybody asks for a neighbour. */
	if (c->cause == CAUSE_NEIGHBOURS)
		return hook == MESH_OUT && !rule->perhaps;
	if (hook == MESH_FOUND || hook == MESH_FINDS)
		return !c->rule && (silent || c->cause == CAUSE_NOT_SEEN6);
	return asked ? silent || answered || is_a_rules(c->cause) ||
			       port_cause_is_stranger(c->cause)
		     : silent && !c->rule;
}

size_t mesh_node_of(const struct mesh *m, const cJSON *rank)
{
	double x = cJSON_IsNumber(rank) ? rank->valuedouble : -1;

	return x >= 0 && x < (double)m->nranks ? m->rank_node[(size_t)x] : MESH_NO_NODE;
}

static struct mesh_cell *cell_of(struct mesh *m, const cJSON *from_rank, const cJSON *to_rank)
{
	size_t from = mesh_node_of(m, from_rank), to = mesh_node_of(m, to_rank);

	return from == MESH_NO_NODE || to == MESH_NO_NODE ? NULL : mesh_edit(m, from, to);
}

static bool is_hook(const char *text, enum mesh_hook *ret)
{
	for (*ret = MESH_IN; text && *ret < MESH_HOOKS; (*ret)++)
		if (streq(text, mesh_hooks[*ret]))
			return true;
	return false;
}

static enum port_cause cause_of(const struct mesh_cell *c, const struct mesh_rule *rule)
{
	switch (rule->hook) {
	case MESH_OUT:
		return CAUSE_OWN_FIREWALL;
	case MESH_ANSWER_IN:
		return CAUSE_OWN_ANSWER;
	case MESH_ANSWER_OUT:
		return CAUSE_THEIR_ANSWER;
	case MESH_FOUND:
		return CAUSE_THEIR_ND;
	case MESH_FINDS:
		return CAUSE_OWN_ND;
	case MESH_IN:
	case MESH_HOOKS:
		break;
	}
	/* Kernels say so to few at a time: to all others a rejection is silence. */
	if (c->cause == CAUSE_DROPPED && rule->rejects)
		return CAUSE_HOST_FIREWALL;
	return c->cause == CAUSE_HOST_FIREWALL || c->cause == CAUSE_LIMITED ||
			       port_cause_is_stranger(c->cause)
		       ? c->cause
		       : CAUSE_DROPPED;
}

static void add_rule(struct mesh *m, struct mesh_cell *c, const struct mesh_rule *rule)
{
	struct mesh_more **at = &c->more;
	size_t n = 1;

	for (; *at && n < MESH_MOST_RULES; at = &(*at)->next)
		n++;
	if (n == MESH_MOST_RULES)
		return;
	*at = ARENA_NEW(m->a, struct mesh_more);
	**at = (struct mesh_more){.rule = rule};
}

static void take_rule(struct mesh *m, struct mesh_cell *c, const struct mesh_rule *rule)
{
	if (c->rule && c->rule->hook == rule->hook) {
		add_rule(m, c, rule);
		return;
	}
	if (!may_have_rule(c, rule))
		return;
	if (rule->seldom && !is_a_rules(c->cause)) {
		c->seldom = c->seldom ?: rule;
		return;
	}
	c->more = NULL;
	c->rule = rule;
	c->cause = (uint8_t)cause_of(c, rule);
}

static const struct mesh_rule *rule_of(const struct mesh *m, const cJSON *i, enum mesh_hook hook)
{
	struct mesh_rule *rule = ARENA_NEW(m->a, struct mesh_rule);

	*rule = (struct mesh_rule){.hook = hook,
				   .perhaps = cJSON_IsTrue(json_get(i, "perhaps")),
				   .seldom = cJSON_IsTrue(json_get(i, "seldom")),
				   .rejects = cJSON_IsTrue(json_get(i, "rejects")),
				   .text = json_copy(m->a, i, "rule"),
				   .fix = json_copy(m->a, i, "fix") ?: "",
				   .peer = json_copy(m->a, i, "peer") ?: ""};
	return rule;
}

/* One of "from" and "to" may be a list: what a rule stops of many, it says once. Of rules of others
 * nobody is asked. */
static void take_rules(struct mesh *m, const cJSON *line, size_t me)
{
	const cJSON *list = json_get(line, "rules");
	enum mesh_hook hook;

	for (const cJSON *i = list ? list->child : NULL; i; i = i->next) {
		const cJSON *from = json_get(i, "from"), *to = json_get(i, "to");
		const cJSON *many = cJSON_IsArray(from) ? from : cJSON_IsArray(to) ? to : NULL;
		double most = json_get_num(i, "most", UINT16_MAX); /* ports of each pair */
		double least = json_get_num(i, "least", 0);	   /* ... it stops all or none */
		const struct mesh_rule *rule;

		if (!json_get_str(i, "rule") || !is_hook(json_get_str(i, "hook"), &hook))
			continue;
		rule = rule_of(m, i, hook);
		for (const cJSON *k = many ? many->child : i; k; k = many ? k->next : NULL) {
			const cJSON *asker = many == from ? k : from, *asked = many == to ? k : to;
			struct mesh_cell *c = cell_of(m, asker, asked);
			const cJSON *whose = mesh_rule_is_in(rule) ? asked : asker;

			if (c && c->bad <= most && c->bad >= least && mesh_node_of(m, whose) == me)
				take_rule(m, c, rule);
		}
	}
}

static bool is_unexplained(const struct mesh_cell *c)
{
	return c->row && c->bad && c->cause == CAUSE_DROPPED && !c->rule;
}

/* Nobody answers for it on the interface that the route takes. */
static bool is_unseen(const struct mesh_cell *c)
{
	return c->row && c->bad && !c->rule &&
	       (c->cause == CAUSE_NOBODY || c->cause == CAUSE_NOT_SEEN);
}

static bool is_half(const struct mesh_cell *c)
{
	return c->row && c->bad && c->cause == CAUSE_LOST_ANSWER && !c->rule;
}

/* A reverse-path filter minds no ports, and counts what it drops, strangers' packets as well. */
static bool may_be_filtered(const struct mesh_node *at, const struct mesh_cell *c, size_t ports)
{
	return at->rp_filter && c->bad == ports && at->rp_drops >= c->bad;
}

/* Questions of theirs that arrived here, and whose answers got lost. */
static void take_half(struct mesh *m, size_t from, size_t me)
{
	const struct mesh_cell *c = mesh_at(m, from, me);
	size_t ports = m->nodes[me].ports.n;

	if (is_unexplained(c))
		mesh_edit(m, from, me)->cause =
			!mesh_at(m, me, from)->straight &&
					may_be_filtered(&m->nodes[from], c, ports)
				? CAUSE_OWN_RP_FILTER
				: CAUSE_LOST_ANSWER;
}

static void take_straight(struct mesh *m, size_t to, size_t me)
{
	mesh_edit(m, me, to)->straight = true;
}

/*
 * What goes to @peer does not leave from where what comes from it enters. Is it
 * a filter that minds, here or there? Those that are strict drop all of it.
 */
static void take_elsewhere(struct mesh *m, size_t peer, size_t me)
{
	struct mesh_cell *to_me = mesh_edit(m, peer, me), *to_peer = mesh_edit(m, me, peer);
	const struct mesh_node *here = &m->nodes[me], *there = &m->nodes[peer];
	/* where all filters are strict it is easier to mend the one route */
	bool routed = here->strict && mesh_undo(m, me, peer);

	if (is_half(to_me))
		to_me->cause = there->strict_other ? CAUSE_OWN_RP_FILTER : CAUSE_WAY_BACK;
	if (is_half(to_peer) && here->strict)
		to_peer->cause = CAUSE_OWN_RP_FILTER;
	/* a strict one drops the question for a hardware address, too */
	if ((is_unexplained(to_me) && (here->rp_filter || here->strict)) ||
	    (is_unseen(to_me) && here->strict))
		to_me->cause = CAUSE_RP_FILTER;
	if (is_unseen(to_peer))
		to_peer->cause = CAUSE_OTHER_WAY;
	if (is_unexplained(to_peer))
		to_peer->cause = there->strict_other && !routed ? CAUSE_RP_FILTER : CAUSE_OTHER_WAY;
}

/* Silence has a reason when the question is known to have arrived, or a filter counted it. */
static void explain(struct mesh *m, const cJSON *list, size_t me,
		    void (*take)(struct mesh *m, size_t peer, size_t me))
{
	for (const cJSON *i = list ? list->child : NULL; i; i = i->next)
		if (mesh_node_of(m, i) != MESH_NO_NODE)
			take(m, mesh_node_of(m, i), me);
}

/* A host without a way to a peer, or that does not find it, cannot answer it either. */
static void take_no_way_back(struct mesh *m, size_t me)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct mesh_cell *to = mesh_at(m, me, i);
		const struct mesh_cell *from = mesh_at(m, i, me);

		/* some of its answers came? Then it has a way back */
		if (to->row && to->bad && is_unexplained(from) &&
		    from->bad >= m->nodes[me].ports.n &&
		    (to->cause == CAUSE_NO_ROUTE || to->cause == CAUSE_OWN_ROUTE))
			mesh_edit(m, i, me)->cause = CAUSE_NO_WAY_BACK;
		if (to->own_path && to->cause == CAUSE_PATHS && !from->own_path && !from->rule &&
		    (from->cause == CAUSE_PATHS || is_unexplained(from) || is_half(from)))
			mesh_edit(m, i, me)->cause = CAUSE_LINK; /* its answers go the same way */
		if (is_unseen(to) && (is_unexplained(from) || is_half(from)))
			mesh_edit(m, i, me)->cause = CAUSE_LINK;
	}
}

/* Whom it sends to a router: what goes there, and its answers, are lost with that. */
static void take_routed(struct mesh *m, const cJSON *line, size_t me)
{
	const cJSON *list = json_get(line, "routed");

	for (const cJSON *i = list ? list->child : NULL; i; i = i->next) {
		size_t peer = mesh_node_of(m, json_get(i, "to"));
		struct mesh_cell *to, *from;

		if (peer == MESH_NO_NODE)
			continue;
		to = mesh_edit(m, me, peer);
		from = mesh_edit(m, peer, me);
		to->router = json_copy(m->a, i, "by");
		if (is_unseen(to) || is_unexplained(to))
			to->cause = CAUSE_ROUTER;
		if (is_half(from))
			from->cause = CAUSE_ROUTER_BACK;
	}
}

/* What it knows of several paths to others. */
static void take_paths(struct mesh *m, const cJSON *line, size_t me)
{
	const cJSON *list = json_get(line, "paths");

	for (const cJSON *i = list ? list->child : NULL; i; i = i->next) {
		size_t to = mesh_node_of(m, json_get(i, "to"));

		if (to == MESH_NO_NODE)
			continue;
		mesh_edit(m, me, to)->paths = json_copy(m->a, i, "said");
		mesh_edit(m, me, to)->own_path = cJSON_IsTrue(json_get(i, "own"));
	}
}

void mesh_explain_rules(struct mesh *m, const cJSON *line, size_t me)
{
	m->nodes[me].rules_cut |= cJSON_IsTrue(json_get(line, "rules_cut"));
	take_rules(m, line, me);
	explain(m, json_get(line, "straight"), me, take_straight);
	explain(m, json_get(line, "half"), me, take_half);
	take_paths(m, line, me);
	mesh_take_link(m, line, me);
}

void mesh_explain_ways(struct mesh *m, const cJSON *line, size_t me)
{
	const struct mesh_node *here = &m->nodes[me];

	explain(m, json_get(line, "elsewhere"), me, take_elsewhere);
	take_routed(m, line, me);
	/* its other card answered for the address, and what came in there was dropped */
	for (size_t i = 0; here->twin && i < m->n; i++) {
		const struct mesh_cell *c = mesh_at(m, i, me);

		if (is_unexplained(c) && !c->straight && may_be_filtered(here, c, here->ports.n))
			mesh_edit(m, i, me)->cause = CAUSE_RP_FILTER;
	}
}

void mesh_explain_rest(struct mesh *m, size_t me) { take_no_way_back(m, me); }
