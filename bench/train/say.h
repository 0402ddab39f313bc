#ifndef BENCH_TRAIN_SAY_H
#define BENCH_TRAIN_SAY_H
/* Judges a training run: findings for people, and the facts as data. */
#include "bench/train/door.h"
#include "bench/train/train.h"
#include "lib/report/report.h"

struct say_peer {
	const char *host, *address, *device;
	const char *at; /* what leads to its host: the name, or, where others share it, the address
			 */
	const char *interface; /* that has its address; NULL: loopback, or unknown */
	const char *gpu;       /* that it trains on: "GPU 0"; NULL: none, or unknown */
};
struct say_world {	 /* who took part, still known when the communicator is gone */
	int size, hosts; /* size 0: they were never connected */
	const char *backend, *transport, *carrier; /* "gloo", what it says of itself, "Gloo" */
	const char *note, *fix;			   /* why it was not NCCL, between GPUs; NULL */
	bool scatters;				   /* it has a reduce_scatter */
	const char *interface; /* that has rank 0's address; NULL: loopback, or unknown */
	struct say_peer *peers;
	struct door door; /* for the job that comes next */
};
struct say_world say_world(const struct comm *c, struct arena *a); /* @c may be NULL */
void say_tell_apart(struct say_world *w, struct arena *a); /* finds @at of its peers, and @hosts */

/* @alone: NULL where it did not come to the comparison. What was not reached is not judged. */
void say_all(struct report *r, const struct train_opts *o, const struct say_world *w,
	     const struct train_result *res, const struct train_alone *alone);
struct say_lost {	      /* a rank that was lost */
	int rank;	      /* -1: the sentence has it */
	const char *sentence; /* what everybody was told */
	const char *doing;
	const char *host;	 /* another one, where the rank was; NULL: here */
	const char *address;	 /* of the rank */
	const char *check, *fix; /* where it is about something else than a lost rank; NULL */
	bool connecting;
};
void say_lost(struct report *r, const struct say_lost *l);
/* Of "rank 1 (b) did nothing": 1; else -1. */
int say_rank_in(const char *sentence);
/* What to type to see why: @host as above. */
void say_fix_lost(struct finding *f, const char *sentence, const char *host);

/* The sum over all epochs of one rank. */
struct say_total {
	double seconds[PHASES], compute, wall; /* wall: of all phases */
	double steady, steady_data; /* of compute, but for the step that took longest, of many */
	uint64_t samples;
};
struct say_total say_total(const struct train_result *res, int rank);
/* bench/train/say_pace.c: which rank computes longest, but for its longest step, and how many times
 * as long as the fastest quarter of them. */
int say_slowest(const struct train_result *res, int ranks, double *ret_times);

/* bench/train/say_data.c */
struct run;
void say_data(struct report *r, const struct train_opts *o, const struct say_world *w,
	      const struct train_result *res, const struct train_alone *alone);
/* bench/train/say_data_checkpoint.c */
void say_data_checkpoint(cJSON *data, const struct run *x);

#endif
