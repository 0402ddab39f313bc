#ifndef PROBES_WALLS_TRAIN_H
#define PROBES_WALLS_TRAIN_H
/*
 * Is that enough for a training cluster? Between any two nodes of one network,
 * both ways, over private addresses: MASTER_PORT, and every port that the
 * kernel may hand out, because NCCL, Gloo and torch listen on those.
 *
 * Nodes that the rules cannot tell apart are judged once (a class), and what one
 * wall does to several pairs for the same reason is one case.
 */
#include "lib/report/report.h"
#include "probes/secgroup/needs.h"
#include "probes/walls/pass.h"

/* Why it is not known what stands before a node. */
enum wall_doubt {
	WALL_KNOWN,
	WALL_UNDESCRIBED, /* a wall of it is in no document: what_id */
	WALL_SUBNET,	  /* no document says which group its subnet has: what_id */
};
struct wall_class {
	const struct wall_node *node; /* the first of them */
	LIST(const struct wall_node *) nodes;
	enum wall_doubt doubt;
	const char *doubt_id;
};
struct wall_pair {
	const struct wall_class *from, *to;
	struct wall_flow flow;	/* between two of them */
	const char *stopped_by; /* "egress" or "ingress" of a wall; NULL: by none */
};
/* What a wall does to those behind it, one way. */
struct wall_case {
	struct wall_view view; /* of the first of these */
	LIST(const struct wall_pair *) pairs;
	port_spans closed;	      /* of what training needs */
	const struct wall_rule *rule; /* that closes it, or NULL: none opens it */
	bool udp, icmp;		      /* pass, too */
};

struct walls_training {
	const struct walls *w;
	struct port_needs needs;
	LIST(struct wall_class) classes;
	LIST(struct wall_pair) pairs;
	LIST(struct wall_case) cases;
};

/*
 * @groups: network tags, accounts, groups; nodes without any of them do not count. None: all.
 * ERR_USAGE: no node has any; ERR_SYS: a signal or the budget came first.
 */
int walls_train(struct walls *w, const struct port_needs *needs, const str_list *groups,
		struct walls_training *ret, struct err *e) MUST_CHECK;
/* Is something closed that training needs? */
bool walls_train_stops(const struct walls_training *t);
/* Nothing opens what @c closes, and a policy that nobody looked at may. */
bool wall_case_is_open_question(const struct walls_training *t, const struct wall_case *c);
/* Findings cloud.*; with the lines that mend it. */
void walls_train_report(const struct walls_training *t, struct report *r);
void walls_train_data(const struct walls_training *t, cJSON *data);

/*
 * Nodes of which nobody said who carries what, from the labels that the rules
 * name: in each network one without any and one with each; of Azure one behind
 * each group alone. @groups: those and no others.
 */
void walls_imagine(const struct walls *w, const str_list *groups, struct arena *a,
		   struct wall_node **ret, size_t *ret_n);

/*
 * The lines that open what @wall closes in one direction, one after the other; one rule for all
 * cases. Words begin with "- ".
 */
str_list walls_mend(const struct walls_training *t, const struct wall *wall, bool is_egress,
		    struct arena *a);

#endif
