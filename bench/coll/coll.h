#ifndef BENCH_COLL_COLL_H
#define BENCH_COLL_COLL_H
/*
 * What a benchmark knows of each collective: how a size on the command line
 * becomes buffers, what bandwidth means, and what has to come out. One file
 * each; names, sizes and factors are nccl-tests'. Adding a file adds the
 * collective.
 */
#include "bench/comm/comm.h"
#include "bench/dev/dev.h"

/* In elements. */
struct coll_sizes {
	size_t count; /* as the request takes it */
	size_t send, recv;
	size_t send_step, recv_step; /* in place: where rank r's part is, times r */
};

struct coll_case {
	const struct coll *coll;
	enum dtype type;
	enum redop op;
	int root, rank, ranks;
	uint64_t seed;
	struct coll_sizes sizes;
};

/* Of the result: @n elements at @at are those of rank @from (-1: reduced) at @from_at. */
typedef void coll_piece(void *arg, size_t at, size_t n, int from, size_t from_at);

struct coll {
	const char *name;
	enum coll_kind kind;
	bool reduces, rooted;
	bool exchanges;	  /* in place only where the communicator says so */
	bool is_of_parts; /* a size is split among the ranks; bandwidth counts all parts */
	double (*factor)(int ranks); /* bus bandwidth over algorithm bandwidth */
	void (*sizes)(int ranks, size_t part, struct coll_sizes *ret);
	/* Elements that one rank sends to another, where they differ (NULL: they do not).
	 * Such a collective has no in-place form: it is out of place then, too. */
	size_t (*between)(int ranks, size_t part, int from, int to);
	void (*expect)(const struct coll_case *c, coll_piece *piece, void *arg);
};

extern const struct coll *const colls[]; /* NULL-terminated */
extern const char *const coll_names[];	 /* likewise, for the option table */
/* Also by the name of nccl-tests' program: all_reduce_perf. NULL: none. */
const struct coll *coll_find(const char *name);

/* Sizes for about @bytes, rounded down as nccl-tests does. */
struct coll_sizes coll_sizes(const struct coll *c, size_t bytes, enum dtype type, int ranks);
/* The larger buffer, which is what tables call the size. */
size_t coll_bytes(const struct coll_case *c);
double coll_algbw(const struct coll_case *c, double seconds); /* GB/s */

struct coll_buffers {
	void *send, *recv; /* each of the larger of both sizes */
	bool in_place;
};
/* Fills what this rank contributes and clears what it gets. */
void coll_fill(const struct coll_case *c, const struct coll_buffers *b, struct dev *d);
/* Counts that it points to live until this thread's next one. */
struct comm_request coll_request(const struct coll_case *c, const struct coll_buffers *b);
size_t coll_wrong(const struct coll_case *c, const struct coll_buffers *b, struct dev *d);

/* --- for the files of the collectives ---------------------------------------- */
double coll_factor_one(int ranks);
double coll_factor_parts(int ranks); /* (n-1)/n */
void coll_sizes_whole(int ranks, size_t part, struct coll_sizes *ret);

#endif
