#ifndef PROBES_SECGROUP_MODEL_H
#define PROBES_SECGROUP_MODEL_H
/*
 * EC2's security groups, network ACLs and the interfaces that carry them, as
 * `aws ec2 describe-*` prints them. One rule here has one source: a permission
 * that lists three groups and two ranges becomes five rules.
 * Text lives in the model's arena.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/net/addr.h"

#include <cjson/cJSON.h>

enum sg_peer { SG_CIDR, SG_GROUP, SG_PREFIX_LIST };

struct sg_rule {
	bool is_egress;
	int proto;	 /* IANA's number; -1: all traffic */
	int first, last; /* ports; for ICMP type and code. -1: all */
	enum sg_peer peer;
	union addr net; /* SG_CIDR */
	unsigned bits;
	const char *peer_text; /* "10.0.0.0/8", "sg-1", "pl-1" */
};
struct sg_group {
	const char *id, *name, *vpc; /* the last two may be NULL */
	LIST(struct sg_rule) rules;
	bool is_described; /* its rules are known */
};

struct sg_acl_entry {
	bool is_egress, is_allow;
	unsigned number; /* the lowest that matches decides */
	int proto, first, last;
	union addr net;
	unsigned bits;
};
struct sg_acl {
	const char *id;
	str_list subnets;
	LIST(struct sg_acl_entry) entries; /* by number */
};

/* A network interface of a node, or a node of which only the groups are known. */
struct sg_node {
	const char *name;				 /* what to call it */
	const char *instance, *eni;			 /* ids, or NULL */
	const char *instance_type, *subnet, *zone, *vpc; /* or NULL */
	const char *kind;				 /* "interface", "efa", "efa-only", NULL */
	addr_list addrs; /* private; empty: not known, or efa-only */
	addr_list public_addrs;
	str_list groups; /* ids */
	unsigned idle_s; /* set for it: when a silent TCP connection is forgotten; 0: nothing */
};
/* What an instance type does where nothing is set. */
struct sg_type {
	const char *name;
	unsigned idle_s;
};

struct sg_model {
	struct arena *a;
	LIST(struct sg_group) groups;
	LIST(struct sg_acl) acls;
	LIST(struct sg_node) nodes;
	LIST(struct sg_type) types;
	bool types_asked; /* for whatever is in there */
};

const struct sg_group *sg_group_find(const struct sg_model *m, const char *id);
bool sg_node_has_group(const struct sg_node *n, const char *id);
bool sg_node_has_efa(const struct sg_node *n);
/* After so many seconds its silent TCP connections are forgotten; 0: not known. */
unsigned sg_node_idle_s(const struct sg_model *m, const struct sg_node *n);

/*
 * Adds what a document of describe-security-groups, -security-group-rules,
 * -network-acls, -instances, -instance-types or -network-interfaces says. Fuzzed: any JSON is
 * survived, what is malformed in it is left out. @ret_known: it was such a
 * document at all.
 */
void sg_model_add(struct sg_model *m, const cJSON *doc, bool *ret_known);

#endif
