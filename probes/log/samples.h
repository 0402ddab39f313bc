#ifndef PROBES_LOG_SAMPLES_H
#define PROBES_LOG_SAMPLES_H
/*
 * Where processes that run stand, as py-spy shows it: one dump each, in one log or in several.
 * A job that hangs and prints nothing is told by them: the others wait for who is elsewhere.
 */
#include "lib/core/arena.h"
#include "probes/log/line.h"

struct why;
struct why_stream;
struct explanation;

enum { SAMPLES_MAX = 1024 };

struct sample {
	unsigned file;
	long pid;	   /* 0: not said */
	int rank;	   /* -1: not said */
	bool waits;	   /* in a collective, or for the GPU */
	bool is_helper;	   /* no rank: a data loader's worker, a launcher */
	const char *place; /* "train.py line 9, in step": the program's innermost; NULL: none */
};

struct samples {
	LIST(struct sample) v;
};

/* "Thread 41 (idle): "MainThread"": the lines behind it are its calls, the innermost first. */
void samples_begin(struct why *w, struct why_stream *s, const struct log_line *l);
/* "    step (train.py:88)". False: the stack has ended. */
bool samples_call(struct why_stream *s, const struct log_line *l);
/* Raises who stands elsewhere than those that wait. */
void samples_judge(struct why *w, struct arena *a, struct explanation *x);

#endif
