#ifndef PROBES_LOG_PODROW_H
#define PROBES_LOG_PODROW_H
/*
 * Rows of `kubectl get pods`: a pod that ended long ago stays in the table, beside those that its
 * controller made in its place. A pod that has a number (train-worker-1), or a node of its own (a
 * DaemonSet's), has its place alone. Bounded: of more than PODROWS_MAX running pods nothing is
 * known.
 */
#include "lib/core/arena.h"
#include "probes/log/line.h"

enum { PODROWS_MAX = 1024 };

struct podrow {
	char owner[192]; /* namespace/ and the pod's name; without what its controller put
			  * behind, but for a number, and where there is one for each node */
	char pod[192];	 /* all of its name, without the namespace */
	char status[32]; /* "Running", "Evicted" */
	long age_s;
	uint64_t order; /* the latest log_event's before it; of those that run */
};

struct podrows {
	LIST(struct podrow) running;
};

/* False where the line is no such row. */
bool podrow_parse(const char *text, struct podrow *ret);
void podrows_hear(struct podrows *p, struct arena *a, const struct log_line *l, uint64_t order);
/* Does a row behind that event show that pod at work? @space: its namespace; "": not known. */
bool podrows_runs(const struct podrows *p, const char *space, const char *pod, uint64_t order);
/* Is there one of the same owner that runs, and is so much younger? *ret: its age. */
bool podrows_replaced(const struct podrows *p, const struct podrow *failed, long *ret_age_s);

#endif
