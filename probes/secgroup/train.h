#ifndef PROBES_SECGROUP_TRAIN_H
#define PROBES_SECGROUP_TRAIN_H
/*
 * Is that enough for a training cluster? Between any two nodes, both ways, over
 * private addresses: MASTER_PORT, and every port that the kernel may hand out,
 * because NCCL, Gloo and torch listen on those; and where EFA carries the data,
 * all traffic in and out by rules that name a group.
 *
 * Nodes that the rules cannot tell apart are judged once (a class), so a
 * thousand equal nodes cost as much as two.
 */
#include "lib/report/report.h"
#include "probes/secgroup/judge.h"
#include "probes/secgroup/needs.h"

enum sg_efa { SG_EFA_UNKNOWN, SG_EFA_YES, SG_EFA_NO };

struct sg_ask {
	struct port_needs ports;
	enum sg_efa efa; /* UNKNOWN: as the interfaces say */
};

struct sg_class {
	const struct sg_node *node; /* the first of them */
	str_list names;
	LIST(const struct sg_node *) nodes; /* with these names */
	size_t n;
	const char *groups;  /* "sg-1,sg-2" */
	const char *unknown; /* a group of them whose rules were not described, or NULL */
};

/* From one class to another, or to another node of the same one. */
struct sg_pair {
	const struct sg_class *from, *to;
	struct sg_flow flow;	      /* TCP between two of them */
	bool is_ip;		      /* both have IP addresses */
	port_spans closed[SG_STAGES]; /* of the ports that training needs, whatever lists hold */
	bool unread_out, unread_in;   /* and others are, unless a prefix list holds the peer */
	bool all_out, all_in;	      /* any protocol passes the groups */
	bool efa_out, efa_in;
	enum sg_efa efa;
};

/* The groups of @owner as its packets to @peer (egress), or from it, meet them. */
struct sg_side {
	bool is_egress;
	const struct sg_class *owner, *peer;
	const struct sg_pair *pair; /* one where it is worst */
	bool is_ip;
	port_spans closed;  /* of what training needs */
	bool unread;	    /* nothing is, if a prefix list holds the peer: nobody read it */
	bool all, by_group; /* all traffic passes; it does by rules that name groups */
	enum sg_efa efa;
};
/* A rule that is missing: all traffic between @group and @peer. */
struct sg_fix {
	const char *group, *peer;
	bool is_egress;
	bool stops; /* without it training hangs: what it needs is closed, or EFA, which is used */
};
typedef LIST(struct sg_fix) sg_fix_list;

struct sg_training {
	const struct sg_model *m;
	struct sg_ask ask;
	LIST(struct sg_class) classes;
	LIST(struct sg_pair) pairs;
	LIST(struct sg_side) sides;
	/* Without repetition. What --apply adds; and what is said, but added by nobody else than
	 * who knows the other instances of those groups. */
	sg_fix_list fixes, wishes;
};

/*
 * @groups: the groups that are on the nodes; with none, those of the nodes that
 * the model has, else the only group of the model. ERR_USAGE when that
 * cannot be known (there are several), or no interface can have them (of several VPCs).
 */
int sg_train(struct sg_model *m, const struct sg_ask *ask, const str_list *groups,
	     struct sg_training *ret, struct err *e) MUST_CHECK;
/* Findings cloud.*; with the lines that mend it. */
void sg_train_report(const struct sg_training *t, struct report *r);
/* Is something missing without which training hangs? */
bool sg_train_stops(const struct sg_training *t);
/* May that be, because not all of the rules are known? */
bool sg_train_is_known(const struct sg_training *t);
/* cloud.rules: all of it in one, a degree milder. Nobody said that these are a cluster. */
void sg_train_brief(const struct sg_training *t, struct finding *f);
void sg_train_data(const struct sg_training *t, cJSON *data);

/* aws ec2 authorize-security-group-ingress --group-id sg-1 --ip-permissions '...' */
const char *sg_fix_line(struct arena *a, const struct sg_fix *f);

#endif
