#ifndef LIB_CLUSTER_AGENT_RANKS_H
#define LIB_CLUSTER_AGENT_RANKS_H
/* Between agent*.c: the ranks of one host and what they say. */
#include "lib/cluster/agent.h"
#include "lib/cluster/child.h"
#include "lib/core/silence.h"

struct agent_rank {
	struct agent *of;
	struct child child;
	struct io out, err, exit;
	bool out_open, err_open;
};

struct agent {
	struct loop loop;
	struct link link;
	struct streams streams;
	struct listener listener; /* where our ranks find "the server" */
	struct arena a;
	struct agent_orders orders;
	struct agent_rank *ranks;
	int started, running;
	uint64_t memory_kills;	/* that are accounted for */
	size_t owed;		/* bytes of output that the launcher has not yet written */
	struct silence silence; /* the launcher's */
	struct timer listen, patience;
	union addr peer;
	bool joined, interrupted, opened, refused;
	bool failed;  /* no ranks could be started */
	pid_t keeper; /* the half that began us: a signal is no person's where that is gone */
	bool is_over; /* the launcher says so, and: */
	int run_code;
	const char *why; /* the link closed because */
};

/* As g->orders say. -1: none was left running. */
int ranks_start(struct agent *g, struct err *e) MUST_CHECK;
void ranks_signal(struct agent *g, int sig);
void ranks_end(struct agent *g); /* asks them to end */
void ranks_credit(struct agent *g, uint32_t n);
/* Ends and reaps them all in about a second; no loop is needed. */
void ranks_done(struct agent *g);

/* ---- agent.c, for the other way to be one (agent_join.c) ---- */
struct job_of_agent {
	int in, out;
	const addr_list *to; /* of one name: tried in turn */
	const struct token *token;
};
int agent_init(struct agent *g, struct err *e) MUST_CHECK;
void agent_done(struct agent *g);
void agent_say_hello(struct agent *g);
int agent_join(const struct job_of_agent *job); /* its exit code */

#endif
