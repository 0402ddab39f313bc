#ifndef BENCH_TRAIN_SAY_RUN_H
#define BENCH_TRAIN_SAY_RUN_H
/* Between say.c and say_*.c: one run, being judged. */
#include "bench/train/lines.h"
#include "bench/train/say.h"

struct run {
	struct report *r;
	const struct train_opts *o;
	const struct who *w;
	const struct train_result *res;
	const struct train_alone *alone;
};

struct finding *say_find(const struct run *x, const char *check, int rank); /* -1: of the model */
const char *say_who(const struct run *x, int rank); /* "rank 1 (node1, 10.0.0.2, GPU 0)" */
const char *say_gpu(const struct run *x, int rank); /* its number; NULL: it is on the CPU */
struct lines say_lines(const struct run *x);
/* A command for the host of @rank, as it is typed here. */
void say_fix_at(const struct run *x, struct finding *f, int rank, const char *fmt, ...)
	PRINTF(4, 5);
int say_bad_rank(const struct run *x); /* whose gradient was the first that is not finite; -1 */
/* Who got no finite average of gradients that all were; -1: nobody, or everybody did. */
int say_hole_rank(const struct run *x);
int say_lost_ranks(const struct run *x, int *ret_first); /* whose parameters are not; how many */

/* The sum over all epochs of one rank. */
struct say_total {
	double seconds[PHASES], compute, wall; /* wall: of all phases */
	double steady, steady_data; /* of compute, but for the step that took longest, of many */
	uint64_t samples;
};
struct say_total say_total(const struct train_result *res, int rank);

/* say_checkpoint.c */
void say_checkpoint(const struct run *x);

/* say_alike.c */
void say_joined(const struct run *x);

/* say_proofs.c */
void say_samples(const struct run *x);
void say_params(const struct run *x);
void say_compute(const struct run *x);
void say_reference(const struct run *x);
void say_repeat(const struct run *x);
/* Carries known data between all ranks, and looks at every element. */
void say_fix_exchange(const struct run *x, struct finding *f);

/* say_learn.c */
void say_finite(const struct run *x);
void say_loss(const struct run *x);
void say_accuracy(const struct run *x);

/* say_pace.c */
void say_pace(const struct run *x);

#endif
