#ifndef BENCH_TRAIN_FAULT_H
#define BENCH_TRAIN_FAULT_H
/* What a test makes one rank do wrong, so that it can be seen to be found. */
#include "lib/core/err.h"

enum fault_kind {
	FAULT_NONE,
	FAULT_FLIP,   /* a bit of its own gradient, before it is exchanged */
	FAULT_WIRE,   /* a bit of the averaged gradient, as it arrived */
	FAULT_NAN,    /* its gradient is not a number */
	FAULT_HOLE,   /* nor is the averaged one, as it arrived */
	FAULT_DATA,   /* its data set is another one */
	FAULT_READ,   /* it reads its data for STEP seconds */
	FAULT_SHARD,  /* it takes its neighbour's samples */
	FAULT_SEED,   /* it was started with another seed */
	FAULT_BUILD,  /* it is another build */
	FAULT_LAYOUT, /* its engine keeps parameters in another order */
	FAULT_OLD,    /* its processor has no vector instructions: no fault, but a difference */
	FAULT_SLOW,   /* it computes everything four times */
	FAULT_LAG,    /* its batches come late */
	FAULT_PAUSE,  /* it stands still for a moment, once */
	FAULT_TORN,   /* its file of a checkpoint is not what it wrote */
	FAULT_FORGET, /* resumed, it has no momentum */
	FAULT_ORDER,  /* resumed, it takes the samples of the epoch before */
	FAULT_STUCK,  /* its file server does not answer */
	FAULT_STOP,
	FAULT_DIE,
};
struct fault {
	enum fault_kind kind;
	int rank;
	uint64_t step;
	uint64_t param; /* whose gradient it is */
};

/* Moments that are no step; as words for STEP: start, join, connect, epoch, end. */
enum fault_moment {
	FAULT_AT_START,	  /* before it joins */
	FAULT_AT_JOIN,	  /* all have joined */
	FAULT_AT_CONNECT, /* the communicator is there */
	FAULT_AT_EPOCH,	  /* the first epoch's last step is done, its validation is not */
	FAULT_AT_END,	  /* everything is done but saying so */
	FAULT_MOMENTS
};
#define FAULT_STEP(moment) (UINT64_MAX - (moment))

/* "RANK:KIND[:STEP[:PARAMETER]]"; the step is 2 and the parameter the last unless told. */
int fault_parse(const char *s, struct fault *ret, struct err *e) MUST_CHECK;
static inline bool fault_is(const struct fault *f, enum fault_kind kind, int rank)
{
	return f->kind == kind && f->rank == rank;
}
void fault_process(const struct fault *f, int rank, uint64_t step);
/* Which of @n parameters it strikes: none is beyond the last. */
static inline size_t fault_param(const struct fault *f, size_t n)
{
	return f->param < n ? (size_t)f->param : n - 1;
}
void fault_read(const struct fault *f, int rank);
void fault_batch(const struct fault *f, int rank);
void fault_gradient(const struct fault *f, int rank, uint64_t step, float *g);
void fault_average(const struct fault *f, int rank, uint64_t step, float *g);

#endif
