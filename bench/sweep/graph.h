#ifndef BENCH_SWEEP_GRAPH_H
#define BENCH_SWEEP_GRAPH_H
/*
 * What -G asks for: operations are captured once, and launched as one graph (comm_replay())
 * instead of one by one. All ranks do, or none: where one cannot, that is told once
 * (sweep.without), and the rest of the sweep is done as if it had not been asked for.
 */
#include "bench/sweep/sweep.h"

/* Iterations in one: about as many operations as are under way without, with their marks. One
 * launch of more than a stream has room for would wait in the driver, where no deadline is looked
 * at. */
enum { GRAPH_MOST = 2 * DEV_MARKS };

typedef int graph_start(struct sweep *s, const struct comm_request *q, struct err *e);
/* Collective: @start, @n times, GRAPH_MOST at most. s->captured says how often then; 0: operations
 * are to be started. */
int graph_capture(struct sweep *s, const struct comm_request *q, graph_start *start, uint64_t n,
		  struct err *e) MUST_CHECK;
/* One operation, to its end, as it is timed: as a graph, where there are any. */
int graph_run(struct sweep *s, const struct comm_request *q, struct err *e) MUST_CHECK;
void graph_forget(struct sweep *s);

#endif
