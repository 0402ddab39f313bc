#ifndef BENCH_TRAIN_WHERE_H
#define BENCH_TRAIN_WHERE_H
/*
 * Where the ranks of a run are, as its options say it, and what this process is
 * in it: the one that starts the ranks, or a rank that somebody started.
 */
#include "lib/cluster/launch.h"
#include "lib/core/opt.h"

#define WHERE_NOT_GIVEN UINT64_MAX

struct where {
	const char *hosts, *rsh, *init;
	uint64_t np, np_per_host, wait, port, rank, size, heartbeat_ns, serve_ns, parallel;
	uint64_t bare; /* ranks where nothing is said; 0: two */
	bool srun, copy_self, keep, partial, serve, no_local, require_token;
};

/* The rows of an option table whose struct is a struct where. */
enum { WHERE_NROWS = 20 };
extern const struct opt where_rows[WHERE_NROWS];
#define WHERE_DEFAULTS                                                                             \
	{                                                                                          \
		.rank = WHERE_NOT_GIVEN, .size = WHERE_NOT_GIVEN                                   \
	}

struct where_role {
	bool is_rank;  /* else it starts the ranks */
	bool ours;     /* by our own launcher, which reads our report ... */
	bool relayed;  /* ... or by an mpirun that it has started */
	int rank;      /* -1: not known yet */
	uint64_t size; /* of the world; 0: not known yet */
};

/* Nothing says where ranks are, or how many: they are here, as many as this machine can use. */
bool where_is_bare(const struct where *w);
/* Looks and joins nothing yet. A contradiction in the options is an ERR_USAGE. */
int where_role(const struct where *w, struct arena *a, struct where_role *ret,
	       struct err *e) MUST_CHECK;
struct world_opts where_world(const struct where *w, uint64_t deadline_ns);
/* Everything but argv and the descriptors. */
int where_launch(const struct where *w, uint64_t deadline_ns, struct arena *a,
		 struct launch_opts *ret, struct err *e) MUST_CHECK;

#endif
