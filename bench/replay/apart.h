#ifndef BENCH_REPLAY_APART_H
#define BENCH_REPLAY_APART_H
/*
 * What NCCL's Inspector left of several jobs in one folder. Processes are of one job where a
 * communicator joins them, be it over others, or where they were at it at the same time. Pure.
 */
#include "bench/inspector/look.h"

struct apart {
	bool *keep;   /* by process: is it of the newest job? */
	size_t kept;  /* so many are */
	double ago_s; /* so long before its begin the latest other one ended; NAN: there is none */
};
struct apart apart_newest(const struct insp_book *b, const struct insp_order *o, struct arena *a);

#endif
