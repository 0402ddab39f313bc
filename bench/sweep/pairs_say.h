#ifndef BENCH_SWEEP_PAIRS_SAY_H
#define BENCH_SWEEP_PAIRS_SAY_H
/* Private to bench/sweep/pairs_say*.c: what was measured between pairs, and how it is named. */
#include "bench/sweep/slow.h"
#include "bench/sweep/verdict.h"

struct matrix {
	const struct story *s;
	int n;
	double *gbps, *latency, *unhindered, *meanwhile;
	double *sent, *again, *lost; /* packets, and the share */
	bool one_host;		     /* units are ranks, not hosts */
	const char *rail;	     /* NULL: they are not told apart */
	bool of_ranks;		     /* it is the GPUs of one local rank, no card that has a name */
};

const struct bench_rank *matrix_unit(const struct matrix *m, int i);
const char *matrix_name(const struct matrix *m, int i);
const char *matrix_over(const struct matrix *m); /* " over eth1", or nothing */
/* Of a finding about @a, or about the link to @b (NULL: none). */
const char *matrix_subject(const struct matrix *m, const char *a, const char *b);
/* "node0 to node1 0.120", of gbps[i]. */
const char *matrix_direction(const struct matrix *m, int i);
double matrix_median(const struct matrix *m);
/* Of one rail, or of all that there is; of a rail that there is not it stays empty. */
void matrix_fill(struct matrix *m, const struct story *s, int rail);
void matrix_judge(const struct matrix *m, const struct verdict_opts *o);

/* --- pairs_data.c --- */
void matrix_add_pairs(const struct matrix *m, cJSON *pairs);
void matrix_tell_pairs(const struct matrix *m); /* data.pairs, where somebody reads it */

/* --- pairs_say_rails.c --- */
void rails_judge(const struct story *s, const struct verdict_opts *o);

/* --- pairs_say_at_once.c --- */
void at_once_say(const struct story *s, const struct verdict_opts *o);

/* --- pairs_say_doubt.c --- */
/* Nobody was found slow; does that say anything about the network? */
void doubts_judge(const struct matrix *m, const struct slow_input *in);
/* Says that the best pair reaches far more than most do, where it does: nobody is named then. */
bool doubts_apart(const struct matrix *m);
/* Nobody is slow as measured, and processors did not decide. */
bool doubts_none(const struct matrix *m, const struct slow_input *in);
/* Nobody asked for these two ranks of one host. */
void doubts_unasked(const struct story *s);

#endif
