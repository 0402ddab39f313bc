#ifndef BENCH_SWEEP_GROUPS_JUDGE_H
#define BENCH_SWEEP_GROUPS_JUDGE_H
/*
 * What each of several groups reached, and which of them is slow beside its like: groups of as
 * many ranks, on as many hosts, spread over them alike. Ranks and who reports judge by the same
 * numbers. Pure.
 *
 *	groups_book_init(&b, &g, coll, a);	groups_book_add(&b, &row);	each row
 *	groups_book_best(&b, i);
 */
#include "bench/ranks/hosts.h"
#include "bench/sweep/groups.h"
#include "bench/sweep/sweep.h"

struct groups_book {
	const struct groups *g;
	const struct coll *coll;
	double (*best)[64]; /* by group, by size: the power of two below it */
	uint64_t largest;
};
void groups_book_init(struct groups_book *b, const struct groups *g, const struct coll *coll,
		      struct arena *a);
/* A row with the time of every rank; else nothing is learned of it. */
void groups_book_add(struct groups_book *b, const struct sweep_row *row);
/* GB/s of bus bandwidth of group @i at the large sizes that there were; NAN: not known, and of one
 * rank there is none. */
double groups_book_best(const struct groups_book *b, int i);
/* The same of an operation of the case @c (as another group has it) that took so long. */
double groups_busbw(const struct groups *g, int i, const struct coll_case *c, double seconds);

/* What more a group was tried for; NAN each: it was not. */
struct groups_tried {
	double again;	      /* all of them at once, once more */
	double favour;	      /* then, if nobody had waited for a processor */
	double alone, beside; /* likewise while the others were quiet; and one that is well, then */
};

struct groups_input {
	const struct groups *g;
	const struct hosts *spread; /* of all ranks */
	const double *gbps;	    /* by group */
	const struct groups_tried *tried;
	uint64_t bytes;	  /* the largest size */
	bool host_memory; /* no GPU: ranks of a host are slow by turns for its processors */
	bool shared_gpu;  /* or for a GPU that several have */
};
enum group_is { GROUP_UNJUDGED, GROUP_WELL, GROUP_SLOW, GROUP_DISTURBED /* by the others alone */ };
struct group_verdict {
	enum group_is is;
	bool low;	/* as measured: is to be tried again */
	double usual;	/* GB/s of its like */
	int like, best; /* how many are; the fastest of them */
};
/* Why none can be judged; NULL: there is a verdict on each. */
const char *groups_judge(const struct groups_input *in, struct arena *a, struct group_verdict *ret);

/* Has one host ranks of two groups? */
bool groups_share_hosts(const struct groups *g, const struct hosts *spread, struct arena *a);
/* All of them, so that what one reaches each should: *ret_hosts, of one. */
bool groups_are_alike(const struct groups *g, const struct hosts *spread, struct arena *a,
		      size_t *ret_hosts);

/* Of what its like reaches. */
extern const double GROUP_SHARE;
enum { GROUPS_JUDGED_FROM = (1 << 20) - SWEEP_SLACK /* bytes: 1 MiB, and rounded down to parts */ };

#endif
