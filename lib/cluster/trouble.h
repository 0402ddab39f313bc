#ifndef LIB_CLUSTER_TROUBLE_H
#define LIB_CLUSTER_TROUBLE_H
/* Why a host gave no answer: one sentence with what to do, and the command that does it. */
#include "lib/cluster/fanout.h"
#include "lib/cluster/rsh.h"

struct trouble {
	const char *said; /* NULL: it gave an answer */
	const char *fix;  /* typed here; NULL: none is known */
	bool missing;	  /* there is no such program, and nothing else is wrong */
	bool away;	  /* the way to the host failed: nothing was run there */
};

/* A program and a host. */
#define TROUBLE_NOT_THERE                                                                          \
	"%s is not installed on %s, or not on the PATH of shells without a terminal"
/* What stands in the words of ours whose orders cannot come. */
#define TROUBLE_UNFED "nothing can come on stdin"
#define TROUBLE_TERMINAL "stdin is a terminal: orders cannot come through one"
/* Behind a folder and a colon: */
#define TROUBLE_DEAD "does not answer there: its file server is gone"

/* Behind a host that says other things than we understand. */
#define TROUBLE_NOISY "its login prints without end, or another program answers"

/* What stands behind "killed by signal ...": docker and kubectl end alike for a container that was
 * stopped. Empty for ssh. */
const char *trouble_or_stopped(const struct rsh_way *rsh, int sig);

/* @rsh: what was run here, @program: what was to run there. */
struct trouble fanout_trouble(const struct fanout_result *r, const struct rsh_way *rsh,
			      const char *program, uint64_t deadline_ns, struct arena *a);
/* It ended by itself, with whatever code, and what it printed is nothing of ours. */
struct trouble fanout_silence(const struct fanout_result *r, const struct rsh_way *rsh,
			      const char *program, struct arena *a);

#endif
