#ifndef BENCH_SWEEP_ASK_H
#define BENCH_SWEEP_ASK_H
/* From flags as people write them to what is measured. All errors are ERR_USAGE. */
#include "bench/ranks/where.h"
#include "bench/sweep/job.h"

#define ASK_NOT_GIVEN UINT64_MAX
#define ASK_NO_SHARE (-1.0) /* likewise: 0 is one */

enum { ASK_RANKS_MAX = 512 }; /* started on this machine; elsewhere there may be more */

struct ask_where {
	const struct where *where;
	const struct where_role *role;
	const char *coll; /* that of a link's name; NULL: of none, or not to be measured */
	const char *backend;
	const char *groups; /* to be said to the ranks, which have them not; NULL */
	char *const *argv;  /* behind the program's name, NULL-ended */
};
/* Fills launch, world, ours and, for MPI, mpirun. */
int ask_where(const struct ask_where *in, struct arena *a, struct job_opts *ret,
	      struct err *e) MUST_CHECK;

/* What means something to some backends only, or to nccl-tests alone. */
struct ask_flags {
	const char *backend, *rails; /* as given */
	uint64_t graph, registers, device_api, ctas, parallel_init, stream_null;
	uint64_t cta_policy; /* ASK_NOT_GIVEN */
	const char *library, *bind;
	uint64_t sockets;
	bool wire_rate, calls_block;
	bool pairs;    /* --pairs or --find-slow */
	bool together; /* --together */
};
/* NCCL_TESTS_MIN_BW; 0: it asks for nothing. */
int ask_least_average(double *ret, struct err *e) MUST_CHECK;
/* What nobody here can do, and must not be mistaken for done. */
int ask_flags(const struct ask_flags *in, struct err *e) MUST_CHECK;
bool ask_has_rails(const char *rails);	  /* some were named */
const char *ask_tcp(const char *backend); /* what tcp alone has was asked for: auto means that */
/*
 * What the vendors' libraries say, and what flags do nothing, into @notes; of auto the ranks decide
 * when they have met. @here: ranks are on this host, and need what they need here.
 */
int ask_backend(const char *name, const struct comm_world *here, struct ask_flags *flags,
		struct arena *a, str_list *notes, struct err *e) MUST_CHECK;
/* What this backend takes and leaves undone, a line each. */
void ask_notes(const struct ask_flags *in, struct arena *a, str_list *ret);

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
/* What would be taken and do nothing, or cannot both be meant. Limits are the given ones. */
int ask_together(const struct job_opts *o, struct err *e) MUST_CHECK;
/* What cannot be written, or drawn beside it, is said before hours of measuring. */
int ask_files(const struct verdict_opts *o, struct arena *a, struct err *e) MUST_CHECK;

#endif
