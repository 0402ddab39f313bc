#ifndef PROBES_SECGROUP_JUDGE_H
#define PROBES_SECGROUP_JUDGE_H
/*
 * What EC2 does with a packet, as pure functions of the rules: security groups
 * are stateful and only allow; network ACLs are not stateful, the lowest
 * number that matches decides, and they work between subnets only. A rule that
 * names a group means the private addresses of interfaces that carry it. EFA's
 * own packets have no IP address: only rules for all traffic that name a group
 * match them.
 */
#include "lib/net/port_spans.h"
#include "probes/secgroup/model.h"

enum { SG_ALL_TRAFFIC = 253 }; /* a protocol nobody names: only "-1" lets it through */
enum { SG_TCP = 6, SG_UDP = 17 };

struct sg_flow {
	const struct sg_node *from, *to;
	const union addr *src, *dst; /* NULL: not known, some private address of a cluster */
	int proto;
	uint16_t port;	      /* to it; for ICMP the type */
	uint16_t first, last; /* where it may come from: the answer must reach all of these */
	bool is_efa;
	bool trusts_lists; /* prefix lists, which nobody read, hold the peer: perhaps they do */
};

/* In the order in which a connection meets them. */
enum sg_stage {
	SG_EGRESS,	 /* the sender's groups */
	SG_ACL_OUT,	 /* its subnet's network ACL */
	SG_ACL_IN,	 /* the receiver's */
	SG_INGRESS,	 /* the receiver's groups */
	SG_ACL_BACK_OUT, /* and the answer, which groups let pass (stateful) and ACLs do not */
	SG_ACL_BACK_IN,
	SG_STAGES,
};
const char *sg_stage_name(enum sg_stage s); /* "egress", "ingress", "acl" */

/* The ACL of a subnet, or NULL: none is known. */
const struct sg_acl *sg_acl_of(const struct sg_model *m, const char *subnet);
/* Does this stage let it through? */
bool sg_passes(const struct sg_model *m, const struct sg_flow *f, enum sg_stage stage);
/* The first stage that does not, or SG_STAGES: the connection comes about. */
enum sg_stage sg_stopped_at(const struct sg_model *m, const struct sg_flow *f);

/* The ports of [first, last] at which @stage (SG_STAGES: any of them) stops @f; f->port is ignored.
 */
void sg_closed_ports(const struct sg_model *m, const struct sg_flow *f, enum sg_stage stage,
		     struct port_span within, port_spans *ret);

/* The rule of these groups that would match a peer, were it in the range: for "why not". */
bool sg_rule_covers(const struct sg_rule *r, int proto, uint16_t port);

#endif
