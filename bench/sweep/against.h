#ifndef BENCH_SWEEP_AGAINST_H
#define BENCH_SWEEP_AGAINST_H
/*
 * A measured bus bandwidth held against what the hardware could do, of a run as of a saved one.
 * More than there can be comes first, whatever the size: what that was derived from is wrong then.
 */
#include "bench/sweep/expect.h"
#include "lib/report/report.h"

/*
 * What lasts: the best of the large sizes that were measured, among them those that can be judged.
 * A shaper's burst carries small ones alone, and so does a cache; whoever reads a table looks at
 * its end. {0} before the first.
 */
struct lasting {
	double busbw;
	double scale; /* what share of all may be asked for there; 0: none is so large */
	uint64_t bytes;
	double most; /* of all sizes ... */
	uint64_t most_bytes;
};
/* One more size of a run whose @largest is that. */
void lasting_take(struct lasting *b, const struct expect *x, uint64_t largest, uint64_t bytes,
		  double busbw);
/* "; 2.18 GB/s at 32 KiB does not last: ..." of the fastest size of all, or "". */
const char *lasting_burst(const struct lasting *b, struct arena *a);

/* A share somebody may have asked for, 0 among them. */
struct share {
	bool given;
	double of_all;
};
double share_or(const struct share *s, double usual);

struct against {
	const char *what; /* "up to 2.13 GB/s at 8 MiB" */
	const char *but;  /* said behind it where it is judged; "" */
	double busbw;
	uint64_t bytes;
	struct share warn, fail; /* below which it is one */
	enum status doubted;	 /* of more than there can be */
};

enum against_is { AGAINST_DOUBTED, AGAINST_TOO_SMALL, AGAINST_JUDGED };

/* In each the finding has everything but what to do. @x has a bus bandwidth: */
enum against_is against_say(struct finding *f, const struct expect *x, const struct against *m);
/* It has none; and a share of it was asked for. */
void against_unjudged(struct finding *f, const struct expect *x, const struct against *m);
void against_no_share(struct finding *f, const struct expect *x);
/* Against what somebody asked for in GB/s. */
void against_asked(struct finding *f, double gbps, const struct against *m);

#endif
