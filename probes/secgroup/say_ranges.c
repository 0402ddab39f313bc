/* Rules that name address ranges: public ones never match nodes that talk privately. */
#include "probes/secgroup/audit.h"
#include "probes/secgroup/say.h"

static bool covers_some_of(const struct sg_rule *r, struct port_span ports)
{
	return sg_rule_covers(r, SG_TCP, ports.first) ||
	       (r->first > ports.first && r->first <= ports.last &&
		sg_rule_covers(r, SG_TCP, (uint16_t)r->first));
}

static bool covers_training(const struct sg_training *t, const struct sg_rule *r)
{
	return sg_rule_covers(r, SG_TCP, t->ask.ports.master) ||
	       covers_some_of(r, t->ask.ports.ephemeral);
}

void sg_side_lists(const struct sg_training *t, const struct sg_side *s, str_list *ret)
{
	const str_list *groups = &s->owner->node->groups;

	for (size_t i = 0; i < groups->n; i++) {
		const struct sg_group *g = sg_group_find(t->m, groups->v[i]);

		for (size_t k = 0; g && k < g->rules.n; k++)
			if (g->rules.v[k].is_egress == s->is_egress &&
			    g->rules.v[k].peer == SG_PREFIX_LIST &&
			    covers_training(t, &g->rules.v[k]))
				cloud_add_once(t->m->a, ret, g->rules.v[k].peer_text);
	}
}

/* Whose public address is in that range? */
static const struct sg_node *public_node(const struct sg_model *m, const struct sg_rule *r)
{
	for (size_t i = 0; i < m->nodes.n; i++)
		for (size_t k = 0; k < m->nodes.v[i].public_addrs.n; k++)
			if (addr_in_subnet(&m->nodes.v[i].public_addrs.v[k], &r->net, r->bits))
				return &m->nodes.v[i];
	return NULL;
}

static void say_public(const struct sg_training *t, const char *group, const struct sg_rule *rule,
		       struct report *r)
{
	const struct sg_node *n = public_node(t->m, rule);
	struct finding *f = report_find(r, "cloud.public", group);

	finding_set(
		f, ST_WARN,
		"a rule for %s, %s%s, does nothing for training: nodes of one VPC meet at their "
		"private addresses",
		rule->peer_text, n ? "the public address of " : "public addresses",
		n ? n->name : "");
	finding_expect(f,
		       "a rule that names a security group, and private addresses in MASTER_ADDR");
	report_add(r, f);
}

static void say_exposed(const char *group, const struct sg_rule *rule, struct report *r)
{
	struct finding *f = report_find(r, "cloud.exposed", group);

	finding_set(
		f, ST_WARN,
		"%s of the whole internet (%s) may enter: training protocols have no passwords, "
		"and nodes of one cluster need only a rule that names their group",
		rule->proto == -1 ? "all traffic" : "training ports", rule->peer_text);
	report_add(r, f);
}

static void say_prefix_list(const char *group, const struct sg_rule *rule, struct report *r)
{
	struct finding *f = report_find(r, "cloud.prefix_list", group);

	finding_set(f, ST_INFO, "a rule names %s; what is in that list was not looked at",
		    rule->peer_text);
	report_add(r, f);
}

static void judge_rule(const struct sg_training *t, const struct sg_side *s, const char *group,
		       const struct sg_rule *rule, struct report *r)
{
	if (rule->is_egress != s->is_egress || !covers_training(t, rule))
		return;
	if (rule->peer == SG_PREFIX_LIST && s->closed.n)
		say_prefix_list(group, rule, r);
	else if (rule->peer == SG_CIDR && !rule->bits && !rule->is_egress)
		say_exposed(group, rule, r);
	else if (rule->peer == SG_CIDR && rule->bits && addr_class(&rule->net) == ADDR_PUBLIC &&
		 (s->closed.n || public_node(t->m, rule)))
		say_public(t, group, rule, r);
}

/* A group is on several sides; each of its rules is said once. */
static bool is_first(const struct sg_training *t, size_t at, const char *group)
{
	for (size_t i = 0; i < at; i++)
		if (t->sides.v[i].is_egress == t->sides.v[at].is_egress &&
		    sg_node_has_group(t->sides.v[i].owner->node, group))
			return false;
	return true;
}

void sg_say_ranges(const struct sg_training *t, struct report *r)
{
	for (size_t i = 0; i < t->sides.n; i++)
		for (size_t k = 0; k < t->sides.v[i].owner->node->groups.n; k++) {
			const char *id = t->sides.v[i].owner->node->groups.v[k];
			const struct sg_group *g = sg_group_find(t->m, id);

			for (size_t n = 0; g && n < g->rules.n && is_first(t, i, id); n++)
				judge_rule(t, &t->sides.v[i], id, &g->rules.v[n], r);
		}
}
