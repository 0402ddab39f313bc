#ifndef BENCH_INSPECTOR_LOOK_H
#define BENCH_INSPECTOR_LOOK_H
/*
 * What a closed book has to say. A rank's own time holds its wait for those that came later, so
 * the bandwidth of a collective is that of the rank that came last, where every rank's line is
 * there. Pure.
 */
#include "bench/inspector/book.h"

enum { INSP_LARGE = 1 << 20 }; /* bytes: smaller ones have latency, not bandwidth */

struct insp_stat { /* a group of the book */
	const struct insp_group *g;
	const struct insp_comm *c;
	size_t n;
	const double *v; /* bus bandwidths by number, GB/s */
	bool joined;	 /* of collectives that all recorded ranks have a line of */
	bool whole;	 /* and these are all ranks: no wait is in them */
	double median, p10, p90, bytes;
	double waited;	    /* share of the ranks' time; NAN: not known */
	double first, last; /* medians of the first and the last tenth; NAN: too few */
	bool sunk; /* by a tenth and more, and hardly one of the last as fast as the first */
	double typical_us;
};
typedef LIST(struct insp_stat) insp_stats;
/* Of communicators of more than one rank. */
void insp_look(const struct insp_book *b, struct arena *a, insp_stats *ret);

/* Members by communicator: those of c are v[from[c]] up to v[from[c + 1]]. */
struct insp_order {
	uint32_t *v;
	size_t *from;
};
struct insp_order insp_order(const struct insp_book *b, struct arena *a);

struct insp_stall { /* one that took many times as long as usual */
	const struct insp_stat *of;
	const struct insp_op *op;
	double us, times;
	bool together; /* for all ranks; else the others waited for the one that came last */
};
typedef LIST(struct insp_stall) insp_stalls;
/* Returns how many sizes came often enough to know what is usual. */
size_t insp_look_stalls(const struct insp_book *b, const insp_stats *s, struct arena *a,
			insp_stalls *ret);

/* Who came last, over all communicators. Where lines are missing the others still tell: who is not
 * among them has let them all wait alike. */
struct insp_late {
	bool known, stands_out;
	bool is_host;	    /* a host, and not a single process of it */
	bool is_member;	    /* where processes have several GPUs: a rank of a communicator */
	uint32_t who;	    /* its number in the book */
	double share, next; /* of the time in collectives it has part in that they waited for it;
			       the next */
	double often;	    /* of the collectives that have its line it came clearly last to */
	double waited;	    /* for anybody */
	size_t n;	    /* collectives looked at */
};
void insp_look_late(const struct insp_book *b, struct arena *a, struct insp_late *ret);

/* A rank whose lines stop before the others'. */
struct insp_stop {
	uint32_t member;
	const char *coll;
	uint64_t at, others; /* numbers of the latest collective */
	double ago_s;	     /* so much earlier than the others' */
	bool sure;	     /* no pause of recording explains it */
	bool took_part;	     /* the others' later ones do not end without it: its recording stopped,
				and not the rank */
};
typedef LIST(struct insp_stop) insp_stops;
/* Of each process the clearest. Returns how many ranks could be held against others. */
size_t insp_look_stops(const struct insp_book *b, struct arena *a, insp_stops *ret);

#endif
