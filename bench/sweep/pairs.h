#ifndef BENCH_SWEEP_PAIRS_H
#define BENCH_SWEEP_PAIRS_H
/* Private to bench/sweep/pairs*.c: who meets whom, over which communicator, what came of it. */
#include "bench/ranks/hosts.h"
#include "bench/sweep/rank.h"

enum { RAILS_MAX = 8 };

struct pair_result { /* doubles only: it travels in a reduction. -1: not measured */
	double partner, latency, gbps, unhindered, sent, again;
};
enum { RESULT_DOUBLES = sizeof(struct pair_result) / sizeof(double) };

/* Packets of all tries. The worst may be a burst of somebody else's. */
struct pair_loss {
	int tries;
	double sent, again, worst_sent, worst_again;
};

struct pairs {
	struct rank *r;
	struct hosts spread;
	struct comm *c; /* of all ranks: one that goes over one rail, or the only one */
	int rail;	/* -1: the only one */
	int n, me;	/* units; -1: not one */
	int *units;	/* their ranks; -1: that host has none on this rail */
	bool one_host;	/* they are its ranks; else each is one of a host */
	char *buffer;	/* the device's */
	size_t chunk, most;
	double *gbps, *latency; /* n * n, directed */
	double *sent, *again;	/* likewise; of loss[], without the worst of several tries */
	struct pair_loss *loss;
	double *unhindered, *meanwhile; /* likewise, as struct slow_input has them */
	struct pair_result *all;
	bool serial; /* units share a machine: pairs at a time would measure each other */
	double seconds;
	int apart; /* odd: the two of a pair keep to processors of their own, others each time */
};

/* --- pairs.c --- */
/* @a and @b meet (me in one of them, or not), and all get to know what came of it. */
int pairs_try(struct pairs *p, int a, int b, struct err *e) MUST_CHECK;
void pairs_progress(struct pairs *p, const char *what, int done, int of);

/* --- pairs_units.c --- */
/* Which ranks share a host: before anything below. */
void units_spread(struct pairs *p);
/* The @nth rank of every host; of one host alone: all of its ranks. */
void units_find(struct pairs *p, int nth);
/* Collective. Do some of them share a machine? */
int units_see_machines(struct pairs *p, struct err *e) MUST_CHECK;

/* --- pairs_again.c --- */
int pairs_again(struct pairs *p, struct err *e) MUST_CHECK;

/* --- pairs_meet.c --- */
/* The two ranks of @part; each side keeps what it sent. */
int pairs_meet(const struct pairs *p, struct comm *part, struct pair_result *ret, struct err *e);

/* --- pairs_at_once.c --- */
/* Collective, over p->c. Tells what came of it. */
int pairs_at_once(struct pairs *p, struct err *e) MUST_CHECK;

/* --- pairs_rails.c --- */
struct rail {
	char name[16];
	union addr at;
	unsigned prefix;
	double gbps; /* nominal, Gb/s; NAN: not known, or made up by a virtual card */
};
typedef struct {
	struct rail v[RAILS_MAX]; /* this rank's */
	int n;			  /* 0: they are not told apart */
	uint32_t is_bound;	  /* not 0: --bind, which each rank may have for itself */
	bool of_ranks;		  /* each is the ranks of one number on their hosts, no card */
} rail_list;
/*
 * Collective. The interfaces that every unit has by the same name, in one subnet each;
 * fewer than two are none. Or those that were asked for (--rails), in any subnet.
 */
int rails_find(const struct pairs *p, rail_list *ret, struct err *e) MUST_CHECK;
/* Where each rank has a GPU: the first ranks of all hosts, their second ones ... Else nothing. */
void units_rails(const struct pairs *p, rail_list *ret);
void units_tell(const struct pairs *p, int nth, cJSON *ret);
/*
 * Collective. All ranks over @rail. NULL with @e empty: it cannot be used; rank 0 has
 * told so. Else nothing can go on.
 */
struct comm *rail_comm(const struct pairs *p, const rail_list *rails, int rail, struct err *e);

#endif
