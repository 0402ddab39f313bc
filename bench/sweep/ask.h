#ifndef BENCH_SWEEP_ASK_H
#define BENCH_SWEEP_ASK_H
/* From flags as people write them to what is measured. All errors are ERR_USAGE. */
#include "bench/sweep/job.h"

#define ASK_NOT_GIVEN UINT64_MAX

enum { ASK_RANKS_MAX = 512 };

struct ask_where {
	uint64_t np, np_per_host, threads, gpus; /* the last two multiply */
	uint64_t rank, size;			 /* ASK_NOT_GIVEN */
	uint64_t wait, port, parallel, serve_ns, heartbeat_ns;
	const char *hosts, *rsh, *init;
	bool srun, serve, no_local, partial, require_token, copy_self, keep;
	char **argv; /* behind the program's name */
};
/* Fills launch, world and, for MPI, mpirun. launch.np 0: not known before the ranks have met. */
int ask_where(const struct ask_where *in, const char *coll, const char *backend, struct arena *a,
	      struct job_opts *ret, struct err *e) MUST_CHECK;

struct ask_sizes {
	uint64_t min, max, step, factor; /* ASK_NOT_GIVEN each */
};
/* None given: adaptive. One of -b and -e alone gives the other one. */
int ask_sizes(const struct ask_sizes *in, struct sweep_opts *ret, struct err *e) MUST_CHECK;
int ask_types(const char *name, unsigned *ret, struct err *e) MUST_CHECK; /* or "all" */
unsigned ask_ops(const char *name);
/* "all" and "-1" give -1. @ranks 0: not known yet. */
int ask_root(const char *text, uint64_t ranks, int *ret, struct err *e) MUST_CHECK;
/* "12.5" GB/s, "60%" of what the hardware should do. */
int ask_expect(const char *text, struct verdict_opts *ret, struct err *e) MUST_CHECK;

#endif
