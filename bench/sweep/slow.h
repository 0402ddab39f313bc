#ifndef BENCH_SWEEP_SLOW_H
#define BENCH_SWEEP_SLOW_H
/*
 * Who is slow, from the bandwidths and losses between pairs: a node, when even
 * its best partner gets little of it; a link, when both its ends do better with
 * others. Pure. Directed: v[a * n + b] is what a sends to b; NAN: not measured.
 */
#include "lib/core/arena.h"

struct slow_input {
	int n;
	const double *gbps;
	const double *sent, *again; /* packets, and those of them again; may be NULL */
	/* The same as gbps without the time in which an end had data to move and waited for a
	 * processor: that says nothing about a network. May be NULL. */
	const double *unhindered;
	/* What proven-good pairs of the same ends reached in the same moments, by turns; NAN:
	 * that was not tried. May be NULL. More is not expected of a to b, then. */
	const double *meanwhile;
};

/* LOSSY_MOST: nobody stands out among nodes that lose: what is between them does it. */
enum slow_kind { SLOW_NODE, SLOW_LINK, LOSSY_NODE, LOSSY_LINK, LOSSY_MOST };
struct slow_verdict {
	enum slow_kind kind;
	int a, b;	   /* b: of a link; it goes from a to b. -1: none */
	bool in, out;	   /* of a node: what it receives, what it sends */
	double is, others; /* GB/s, or the share lost */
	bool sure;	   /* of losses: that is more than chance makes of LOSSY_SHARE */
	int partner;	   /* proven good with others: whom to try it with again; -1: none */
};
typedef LIST(struct slow_verdict) slow_list;

extern const double SLOW_SHARE;	 /* of what others reach */
extern const double LOSSY_SHARE; /* of the packets */

void slow_find(const struct slow_input *in, struct arena *a, slow_list *ret);
/* The same, and who loses so much in what was sent until now, though that may be chance. */
void slow_suspects(const struct slow_input *in, struct arena *a, slow_list *ret);
/*
 * Where nobody was found: of whom that says nothing, since he is slow as measured, and cleared
 * by the favours of unhindered and meanwhile alone. A busy machine makes healthy ones look so,
 * and hides sick ones.
 */
void slow_doubts(const struct slow_input *in, struct arena *a, slow_list *ret);
/*
 * The share of the time in which even the best pairs waited for processors; 0: that is not
 * known. From HINDERED_SHARE on it may be these that were measured, and not a network.
 */
extern const double HINDERED_SHARE;
double slow_hindered(const struct slow_input *in, struct arena *a);
/* The median of what is known, of an even number the lower one, so that of two neither stands out;
 * NAN: nothing is. */
double slow_median(const double *v, size_t n, struct arena *a);
/* Who is tried by turns with others: is there no doubt any more, either way? */
bool slow_is_clear(double best, double others);

#endif
