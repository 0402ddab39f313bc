#ifndef PROBES_NODE_NODE_H
#define PROBES_NODE_NODE_H
/*
 * What one machine is: what its limits, disks, clocks, GPUs, PCIe, NVLink, EFA adapters and
 * kernel log say about training on it. Each part adds its findings to a tally; nothing is
 * added where there is nothing to look at. In which order, and what comes of it, is
 * probes/preflight's to say.
 */
#include "probes/tally/tally.h"

struct node_look {
	struct arena *a;
	struct tally *t; /* of this stage of a run: */
	unsigned stage;
	const char *stage_name;
	uint64_t deadline_ns; /* of one answer of a library */
	uint64_t cap_ns;      /* of the whole look */
	uint64_t until_ns;    /* the end of the run's budget; 0: it has none */
	bool burst;	      /* a second of work on each GPU, too */
	bool asked;	      /* for somebody who looks at several hosts */
	bool here;	      /* for somebody who looks at this host, before a job begins on it */
	const char *absent;   /* out: what such a job needs, and is not on this host; or NULL */
	cJSON *data;	      /* of the report; NULL: nobody reads it */
};

/* What a container or a login session takes away from training, and what the machine lacks. */
void node_limits(struct node_look *look);
void node_gpus(struct node_look *look);
/* The burst on so many GPUs takes no longer, beside CUDA's start. */
uint64_t node_burst_ns(size_t gpus);

#endif
