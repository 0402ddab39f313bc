#ifndef BENCH_TRAIN_LINES_H
#define BENCH_TRAIN_LINES_H
/*
 * The lines that ddpsmoke proposes to type once it knows its ranks: about the same run, between the
 * same ranks, or on the host of one of them, the way that the run itself went. Another model, other
 * ranks or another library would be another question; and what passes there would be no answer.
 *
 *	ddpsmoke --hosts a,b --model mlp --lr 0.01		lines_again()
 *	ddpsmoke --hosts b --np 1 --model mlp --epochs 20	lines_alone()
 *	ncclbench --hosts a,b --np 16 --backend nccl -b 1M	lines_bench()
 *
 * What else is typed on a host goes there by typed_on() (lib/cluster/typed_way.h). Each line is one
 * text, as a fix is (lib/core/fix.h): where somebody else starts the ranks it is words.
 */
#include "bench/train/train.h"
#include "bench/train/who.h"

struct lines {
	const struct train_opts *o;
	const struct who *w;
	struct arena *a;
};

/* This run, with @option ("--lr") set to @value; NULL: as it was. */
const char *lines_again(const struct lines *l, const char *option, const char *value);
/* By the host of @rank alone, with what was asked of each rank's computing, and what else is to be
 * set (" --epochs 20"): by one rank, of GPUs elsewhere by all of that host's, as no line from here
 * chooses among them. */
const char *lines_alone(const struct lines *l, int rank, const char *options);
/* The same by as many as it had, which exchange something: so by two where that was one; but this
 * run, as it was, where that one has the GPU. */
const char *lines_there(const struct lines *l, int rank, const char *options);
/* ncclbench, with these options, between the same ranks and by the same library. */
const char *lines_bench(const struct lines *l, const char *options);
/* A command of ours with all hosts of the run, whatever ranks they have. */
const char *lines_hosts(const struct lines *l, const char *command);

#endif
