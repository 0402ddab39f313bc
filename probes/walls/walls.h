#ifndef PROBES_WALLS_WALLS_H
#define PROBES_WALLS_WALLS_H
/*
 * The firewalls of Google Cloud's networks and Azure's network security groups,
 * and the interfaces behind them, as `gcloud compute ... list --format=json` and
 * `az network ... list` print them. Both are lists of rules that allow or deny:
 * the first that matches decides, and answers pass (they are stateful).
 *
 *	Google Cloud	one wall per network; a rule is for all of its machines or for
 *			those with a tag or a service account; of equal priorities a
 *			denial wins; what no rule matches may leave and not enter
 *	Azure		one wall per group, and an interface stands behind two: its
 *			subnet's and its own, which both must let pass; without any
 *			everything passes
 *
 * AWS's, which only allow, are probes/secgroup. Text lives in the model's arena.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/net/addr.h"
#include "lib/net/port_spans.h"

#include <cjson/cJSON.h>

enum walls_cloud { WALLS_NONE, WALLS_GCP, WALLS_AZURE };

struct wall_range {
	union addr net;
	unsigned bits;
};
/* One side of a rule. Zero: nobody. */
struct wall_whom {
	bool is_all;			/* whoever it is */
	bool is_network;		/* Azure's VirtualNetwork: whoever is in this network */
	bool is_internet;		/* and its Internet: whoever is not */
	str_list labels;		/* who has one of these: "tag:gpu" */
	LIST(struct wall_range) ranges; /* or an address in one of these */
};
struct wall_reach {
	int proto;	  /* IANA's number; -1: any */
	port_spans ports; /* none: all */
};
struct wall_rule {
	const char *name;
	bool is_egress, is_allow, is_builtin;
	unsigned priority; /* the lowest is asked first */
	LIST(struct wall_reach) reaches;
	port_spans from_ports;	/* none: from any */
	struct wall_whom owner; /* those behind the wall that it is for: */
	str_list targets;	/* of them who has one of these labels; none: all */
	struct wall_whom peer;	/* and who is at the other end */
};
struct wall {
	const char *id;			 /* in small letters, as Azure's are compared */
	const char *name;		 /* of the network, or of the group */
	const char *place;		 /* Azure's resource group, Google's project; or NULL */
	LIST(struct wall_rule) rules;	 /* in the order in which they are asked */
	LIST(struct wall_rule) disabled; /* that are there, and switched off */
	size_t left_out;		 /* rules of which something could not be read */
	str_list subnets;		 /* that a group is on: ids in small letters */
	bool lets_out;			 /* what no rule matches may leave */
	bool is_described;		 /* its rules are known, were it that it has none */
};

/* A network interface. */
struct wall_node {
	const char *name;    /* what to call it */
	const char *machine; /* whose it is: an id; NULL: nobody's */
	const char *machine_name;
	const char *network; /* Google's network, Azure's virtual network: its id; or NULL */
	const char *subnet;  /* its id, or NULL */
	addr_list addrs;     /* private; none: not known, some private address of a cluster */
	str_list labels;     /* "tag:gpu", "account:x@y", "asg:gpus" */
	str_list walls;	     /* ids of those before it */
	bool is_outside;     /* some machine of the internet */
};
/* A subnet of Azure's, as a document about it says. */
struct wall_subnet {
	const char *id, *group; /* NULL: it has none */
};

struct walls {
	struct arena *a;
	enum walls_cloud cloud;
	bool is_mixed; /* something of the other cloud was there, too */
	LIST(struct wall) all;
	LIST(struct wall_node) nodes;
	LIST(struct wall_subnet) subnets;
	bool is_whole; /* a list of rules was there that is empty: no network has any */
	size_t loose;  /* interfaces of no machine: left out */
	/* Google's networks for RDMA: no such rule is for them, and all passes but what a policy of
	 * their own denies. Their names. */
	str_list rdma;
	/* Firewall policies that decide, too, and were not looked at; some of them allow something.
	 */
	str_list unread;
	bool unread_allow;
};

/* NULL: it is not described. */
const struct wall *wall_find(const struct walls *w, const char *id);
/* Does any document say which group its subnet has, or that it has none? Google's have no such. */
bool walls_knows_subnet(const struct walls *w, const struct wall_node *n);
bool wall_node_has(const struct wall_node *n, const char *label);
/* What stands behind the last slash: ".../networks/train" -> "train". */
const char *wall_tail(const char *id);
/* "tag:gpu" -> "gpu", "asg:/subscriptions/.../gpus" -> "gpus" */
const char *wall_label_word(const char *label);

/*
 * Adds what a document says. Any JSON is survived, what is malformed in it is
 * left out. @ret_known: it was such a document at all; an empty list is none.
 */
void walls_add(struct walls *w, const cJSON *doc, bool *ret_known);
/* Behind the last document: which walls stand before which node, and the rules in order. */
void walls_settle(struct walls *w);

#endif
