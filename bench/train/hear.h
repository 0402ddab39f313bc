#ifndef BENCH_TRAIN_HEAR_H
#define BENCH_TRAIN_HEAR_H
/*
 * What ranks say while our launcher runs, or an mpirun of ours: rank 0's stdout is
 * events of progress (bench/ranks/relay.h) and then its report as a JSON document, or an error;
 * a rank that saw rank 0 being lost says that; stderr of all is passed on, and so is
 * what libraries print. A thread listens, because the launcher's loop has this one.
 */
#include "bench/ranks/relay.h"
#include "lib/cluster/rendezvous.h"

#include <pthread.h>

struct hear {
	int out[2], err[2]; /* pipes; the writing ends are the launcher's out_fd and err_fd */
	pthread_t thread;
	bool running;
	struct relay_in in;
	char *text; /* the document so far; '\0'-ended */
	size_t n, cap;
	bool is_whole;	   /* its last line has come */
	bool is_too_large; /* more than we take: what it says is lost */
	struct arena a;
	str_list hosts, names; /* of the ranks, once they have met: "rank 1 (b, 10.0.0.2)" */
	char last[160];	       /* the latest progress, as a person reads it; "" none */
	struct err error;      /* rank 0's, which writes no report then */
	char lost[256];	       /* what became of rank 0, by another one; "" nothing */
	int died;	       /* behind mpirun: the rank that died first; -1: none */
	char cause[64];	       /* of that */
	int echo;	       /* another one, whose MPI aborted when it lost that; -1: none */
	int ending;	       /* atomic: how often rank 0 said, after a Ctrl-C, that it is */
	int over;	       /* atomic: nothing more will be said */
};

int hear_start(struct hear *h, struct err *e) MUST_CHECK;
/* Everything that was said has been heard. */
void hear_stop(struct hear *h);
void hear_done(struct hear *h);

/* In a rank, before its stdout is anything else: what follows goes there. */
void hear_speak(void);
int hear_nobody(struct err *e) MUST_CHECK;			 /* instead: stdout goes nowhere */
int hear_fd(void);						 /* of that; -1: nobody hears us */
void hear_tell(const char *what, uint64_t done, uint64_t total); /* in rank 0 */
/* In rank 0, when all have met. */
void hear_tell_ranks(struct rdzv *z);
/* Likewise, instead of a report: what was typed is wrong, and no rank before it could know. */
void hear_tell_error(const struct err *e);
/* In another one: that rank 0 is gone, if @sentence says so. */
void hear_tell_lost(const char *sentence);

#endif
