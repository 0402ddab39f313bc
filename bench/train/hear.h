#ifndef BENCH_TRAIN_HEAR_H
#define BENCH_TRAIN_HEAR_H
/*
 * What ranks say while our launcher runs: rank 0's stdout is lines of progress
 * and then its report as a JSON document; stderr of all is passed on. A thread
 * listens, because the launcher's loop has this one.
 */
#include "lib/core/err.h"

#include <pthread.h>

struct hear {
	int out[2], err[2]; /* pipes; the writing ends are the launcher's out_fd and err_fd */
	pthread_t thread;
	bool running;
	char *text; /* the document so far; '\0'-ended */
	size_t n, cap;
	char last[160]; /* the latest progress, as a person reads it; "" none */
};

int hear_start(struct hear *h, struct err *e) MUST_CHECK;
/* Everything that was said has been heard. */
void hear_stop(struct hear *h);
void hear_done(struct hear *h);

/* In rank 0: one line of progress, in one write. */
void hear_tell(const char *what, uint64_t done, uint64_t total);

#endif
