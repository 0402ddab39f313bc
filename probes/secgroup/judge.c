#include "probes/secgroup/judge.h"

const char *sg_stage_name(enum sg_stage s)
{
	return s == SG_EGRESS ? "egress" : s == SG_INGRESS ? "ingress" : s < SG_STAGES ? "acl" : "";
}

static bool reaches(int rule_proto, int first, int last, int proto, int port)
{
	if (rule_proto == -1)
		return true;
	if (rule_proto != proto)
		return false;
	if (proto == 1 || proto == 58) /* a type; codes are not told apart */
		return first == -1 || first == port;
	return first == -1 || (port >= first && port <= last);
}

bool sg_rule_covers(const struct sg_rule *r, int proto, uint16_t port)
{
	return reaches(r->proto, r->first, r->last, proto, port);
}

static bool is_private_of(const struct sg_node *n, const union addr *at)
{
	if (!at)
		return true;
	for (size_t i = 0; i < n->addrs.n; i++)
		if (addr_equal(&n->addrs.v[i], at))
			return true;
	return false;
}

static bool rule_means(const struct sg_rule *r, const struct sg_flow *f, const struct sg_node *peer,
		       const union addr *at)
{
	switch (r->peer) {
	case SG_CIDR:
		return !f->is_efa && addr_could_be_in(at, &r->net, r->bits);
	case SG_PREFIX_LIST:
		return !f->is_efa && f->trusts_lists;
	case SG_GROUP:
		break;
	}
	return sg_node_has_group(peer, r->peer_text) && (f->is_efa || is_private_of(peer, at));
}

static bool groups_pass(const struct sg_model *m, const struct sg_flow *f, bool is_egress)
{
	const struct sg_node *owner = is_egress ? f->from : f->to;
	const struct sg_node *peer = is_egress ? f->to : f->from;
	const union addr *at = is_egress ? f->dst : f->src;

	for (size_t i = 0; i < owner->groups.n; i++) {
		const struct sg_group *g = sg_group_find(m, owner->groups.v[i]);

		for (size_t k = 0; g && k < g->rules.n; k++) {
			const struct sg_rule *r = &g->rules.v[k];

			if (r->is_egress == is_egress && sg_rule_covers(r, f->proto, f->port) &&
			    rule_means(r, f, peer, at))
				return true;
		}
	}
	return false;
}

const struct sg_acl *sg_acl_of(const struct sg_model *m, const char *subnet)
{
	for (size_t i = 0; subnet && i < m->acls.n; i++)
		for (size_t k = 0; k < m->acls.v[i].subnets.n; k++)
			if (streq(m->acls.v[i].subnets.v[k], subnet))
				return &m->acls.v[i];
	return NULL;
}

static bool acl_passes(const struct sg_acl *acl, bool is_egress, const union addr *peer, int proto,
		       int port)
{
	for (size_t i = 0; i < acl->entries.n; i++) {
		const struct sg_acl_entry *e = &acl->entries.v[i];

		if (e->is_egress == is_egress && addr_could_be_in(peer, &e->net, e->bits) &&
		    reaches(e->proto, e->first, e->last, proto, port))
			return e->is_allow;
	}
	return false; /* the entry '*' */
}

/* To every port of a range: between two edges of the entries nothing changes. */
static bool acl_passes_all(const struct sg_acl *acl, bool is_egress, const union addr *peer,
			   int proto, uint16_t first, uint16_t last)
{
	if (!acl_passes(acl, is_egress, peer, proto, first))
		return false;
	for (size_t i = 0; i < acl->entries.n; i++) {
		int edges[] = {acl->entries.v[i].first, acl->entries.v[i].last + 1};

		for (size_t k = 0; k < ARRAY_LEN(edges); k++)
			if (edges[k] > first && edges[k] <= last &&
			    !acl_passes(acl, is_egress, peer, proto, edges[k]))
				return false;
	}
	return true;
}

/* Network ACLs stand between subnets; one that is not known is taken to be open, as new ones are.
 */
static bool acl_stage(const struct sg_model *m, const struct sg_flow *f, enum sg_stage stage)
{
	bool is_egress = stage == SG_ACL_OUT || stage == SG_ACL_BACK_OUT;
	bool at_sender = stage == SG_ACL_OUT || stage == SG_ACL_BACK_IN;
	bool is_back = stage == SG_ACL_BACK_OUT || stage == SG_ACL_BACK_IN;
	const struct sg_acl *acl = sg_acl_of(m, at_sender ? f->from->subnet : f->to->subnet);
	const union addr *peer = at_sender ? f->dst : f->src;

	if (!acl || !f->from->subnet || !f->to->subnet || streq(f->from->subnet, f->to->subnet) ||
	    f->is_efa)
		return true;
	if (!is_back)
		return acl_passes(acl, is_egress, peer, f->proto, f->port);
	/* Only TCP must have an answer for a connection to exist. */
	return f->proto != SG_TCP ||
	       acl_passes_all(acl, is_egress, peer, f->proto, f->first, f->last);
}

bool sg_passes(const struct sg_model *m, const struct sg_flow *f, enum sg_stage stage)
{
	if (stage == SG_EGRESS || stage == SG_INGRESS)
		return groups_pass(m, f, stage == SG_EGRESS);
	return acl_stage(m, f, stage);
}

enum sg_stage sg_stopped_at(const struct sg_model *m, const struct sg_flow *f)
{
	enum sg_stage s = 0;

	while (s < SG_STAGES && sg_passes(m, f, s))
		s++;
	return s;
}
