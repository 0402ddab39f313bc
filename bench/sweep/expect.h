#ifndef BENCH_SWEEP_EXPECT_H
#define BENCH_SWEEP_EXPECT_H
/*
 * What bus bandwidth the hardware should give, derived from what is there and
 * with the reasoning in words. Healthy clusters were measured at 59 to 86 % of
 * what their network cards add up to and at 78 to 82 % of one direction of
 * NVLink (more with NVLink SHARP), so there are limits, never one number.
 *
 * Where several ranks share a host there are two sums. A ring does what cards or NVLink do,
 * whichever is slower, and healthy clusters reach 91 % of that (Google's A3 Mega 63). A tree needs
 * the cards for half as much on two hosts, and NVLink for twice as much: the most that there can
 * be, and asked for only where NVLink is so much faster that NCCL gains by it. Pure.
 */
#include "lib/core/arena.h"

enum expect_joined { JOINED_UNKNOWN, JOINED_BY_CARDS, JOINED_BY_NVLINK };
struct expect_facts {
	const char *backend;  /* "tcp", "nccl" ... */
	const char *coll;     /* "all_reduce"; others only where one host is enough to tell */
	const char *gpu;      /* "NVIDIA H100 80GB HBM3", or NULL */
	const char *instance; /* "p5.48xlarge", or NULL */
	int ranks, hosts;
	double nic_gbps;	   /* Gb/s of one host's cards together; NAN: not known */
	unsigned sockets;	   /* tcp: between each two ranks; 0: not known */
	int gpus;		   /* of NVIDIA's in a host, used or not; 0: not known */
	bool uneven;		   /* some hosts have more ranks than others */
	enum expect_joined joined; /* hosts, whose GPUs' NVLink may reach to others */
};

struct expect {
	/* what follows from what is there */
	double busbw;  /* GB/s, the most that the hardware could do; NAN: nothing can be said */
	bool always;   /* at all times; now and then it may do more */
	bool capped;   /* by the cards: more than that cannot have been */
	bool is_share; /* others use the rest meanwhile: more is no wonder */
	/* what is asked for */
	double asked;	      /* GB/s that shares are of: that, or what rings do */
	double warn, fail;    /* shares of it, below which it is one */
	uint64_t judged_from; /* bytes: smaller sizes say too little; of larger ones ... */
	double ramp;	      /* ... a share is asked for, expect_reached(bytes / ramp); 0: all */
	const char *why;      /* the reasoning, or why there is none */
};

/* "what is possible", "what rings do": what x->asked is. */
const char *expect_word(const struct expect *x);
/* For who has only @share of the hardware, and others the rest meanwhile. */
void expect_divide(struct expect *x, double share);

/* Of what several hosts could do. Inside one more is expected, and nowhere less. */
extern const double EXPECT_WARN, EXPECT_FAIL;

void expect_derive(const struct expect_facts *f, struct arena *a, struct expect *ret);
/* The same of one of @groups at once, which are alike: of @ranks on @hosts of those that @all has.
 * Where their hosts have more ranks, others use the rest of the cards meanwhile. */
void expect_derive_group(const struct expect_facts *all, int ranks, int hosts, int groups,
			 struct arena *a, struct expect *ret);
/*
 * Where @busbw is clearly more than there can be, what was derived it from is wrong, and this is
 * the sentence; NULL: it is not.
 */
const char *expect_doubt(const struct expect *x, double busbw, struct arena *a);
/*
 * Which share of the asymptote a healthy run reaches at @bytes, 0..1, where that is 400 GB/s. What
 * is slower, or has fewer hosts to go round, has paid for its latency with less.
 */
double expect_reached(uint64_t bytes);
/* Which share of x->asked may be asked for at @bytes; 0: that is too small a size to judge by. */
double expect_share(const struct expect *x, uint64_t bytes);

#endif
