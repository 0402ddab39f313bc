#ifndef PROBES_SECGROUP_BESIDE_H
#define PROBES_SECGROUP_BESIDE_H
/*
 * The cloud's part of a look at this host alone: the metadata service is asked
 * on a thread while other things are read, so off its cloud it costs nobody
 * its connect limit. What it says becomes a line; where credentials are found
 * (a role, say), the rules of this instance's groups are judged as well. In no
 * cloud nothing is sent and nothing said.
 */
#include "probes/secgroup/audit.h"

#include <pthread.h>

struct cloud_beside { /* zero: not started */
	pthread_t thread;
	bool is_running;
	uint64_t total_ns;
	struct arena a; /* the thread's, then ours */
	struct cloud cloud;
};

/* Without a thread to be had nothing is asked. */
void cloud_beside_start(struct cloud_beside *b, uint64_t deadline_ns);
/* Waits for it, at most as long as a metadata service may take. */
void cloud_beside_report(struct cloud_beside *b, const struct cloud_run *q);
void cloud_beside_done(struct cloud_beside *b);

#endif
