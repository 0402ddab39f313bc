/* Network ACLs: they know no connections, so the answer needs an entry of its own. */
#include "probes/secgroup/say.h"

/* A number in front of all entries of that direction and of what was proposed so far; 0: none. */
static unsigned free_number(const struct sg_acl *acl, bool is_egress, unsigned proposed)
{
	unsigned least = 32767;

	for (size_t i = 0; i < acl->entries.n; i++)
		if (acl->entries.v[i].is_egress == is_egress && acl->entries.v[i].number < least)
			least = acl->entries.v[i].number;
	return least > proposed + 1 ? least - proposed - 1 : 0;
}

/* The smallest range that holds the nodes of that subnet. */
static const char *range_of(const struct sg_training *t, const struct sg_node *like)
{
	union addr base = like->addrs.v[0];
	unsigned bits = base.sa.sa_family == AF_INET6 ? 64 : 28;
	struct addr_text text;

	for (size_t i = 0; i < t->m->nodes.n; i++) {
		const struct sg_node *n = &t->m->nodes.v[i];

		if (!n->subnet || !streq(n->subnet, like->subnet) || !n->addrs.n ||
		    n->addrs.v[0].sa.sa_family != base.sa.sa_family)
			continue;
		while (bits > 8 && !addr_in_subnet(&n->addrs.v[0], &base, bits))
			bits--;
	}
	base = addr_network(&base, bits);
	return arena_printf(t->m->a, "%s/%u", addr_print(&base, &text), bits);
}

static void fix_acl(const struct sg_training *t, struct finding *f, const struct sg_acl *acl,
		    bool is_egress, const struct sg_node *peer, unsigned proposed)
{
	unsigned number = free_number(acl, is_egress, proposed);
	const char *range = range_of(t, peer);

	if (number)
		finding_fix(f,
			    "aws ec2 create-network-acl-entry --network-acl-id %s %s --rule-number "
			    "%u --protocol -1 --rule-action allow %s %s",
			    acl->id, is_egress ? "--egress" : "--ingress", number,
			    strchr(range, ':') ? "--ipv6-cidr-block" : "--cidr-block", range);
	else
		finding_fix(f,
			    "aws ec2 describe-network-acls --network-acl-ids %s   # no number is "
			    "free in front of its entries: give them higher ones, then allow all "
			    "%s %s",
			    acl->id, is_egress ? "to" : "from", range);
}

static void say_acl(const struct sg_training *t, const struct sg_pair *p, enum sg_stage stage,
		    unsigned proposed, struct report *r)
{
	bool at_sender = stage == SG_ACL_OUT || stage == SG_ACL_BACK_IN;
	bool is_egress = stage == SG_ACL_OUT || stage == SG_ACL_BACK_OUT;
	bool is_back = stage == SG_ACL_BACK_OUT || stage == SG_ACL_BACK_IN;
	const struct sg_node *mine = at_sender ? p->from->node : p->to->node;
	const struct sg_node *peer = at_sender ? p->to->node : p->from->node;
	const struct sg_acl *acl = sg_acl_of(t->m, mine->subnet);
	struct finding *f = report_find(r, "cloud.acl", acl->id);

	if (is_back)
		finding_set(
			f, ST_FAIL,
			"answers from %s to %s are not let %s %s: a network ACL is not stateful, "
			"and answers go to any port of %u-%u",
			p->to->node->name, p->from->node->name, is_egress ? "out of" : "into",
			mine->subnet, t->ask.ports.ephemeral.first, t->ask.ports.ephemeral.last);
	else
		finding_set(f, ST_FAIL, "TCP %s from %s to %s is not let %s %s",
			    port_spans_text(f->a, &p->closed[stage]), p->from->node->name,
			    p->to->node->name, is_egress ? "out of" : "into", mine->subnet);
	finding_expect(f, "all traffic between the subnets of the cluster, both ways");
	fix_acl(t, f, acl, is_egress, peer, proposed);
	report_add(r, f);
}

/* One per ACL, direction and other subnet: an entry for all traffic mends both the way and back. */
void sg_say_acls(const struct sg_training *t, struct report *r)
{
	static const enum sg_stage stages[] = {SG_ACL_OUT, SG_ACL_IN, SG_ACL_BACK_OUT,
					       SG_ACL_BACK_IN};
	str_list said = {0};

	for (size_t i = 0; i < t->pairs.n; i++)
		for (size_t k = 0; k < ARRAY_LEN(stages); k++) {
			const struct sg_pair *p = &t->pairs.v[i];
			bool at_sender = k == 0 || k == 3, again = false;
			const struct sg_node *a = at_sender ? p->from->node : p->to->node;
			const struct sg_node *b = at_sender ? p->to->node : p->from->node;
			const char *key;

			if (!p->closed[stages[k]].n)
				continue;
			key = arena_printf(t->m->a, "%s %s %d", a->subnet, b->subnet, k % 2 == 0);
			for (size_t n = 0; n < said.n; n++)
				again |= streq(said.v[n], key);
			if (again)
				continue;
			*LIST_ADD(t->m->a, &said) = key;
			say_acl(t, p, stages[k], (unsigned)said.n - 1, r);
		}
}
