#ifndef LIB_CLUSTER_JOB_H
#define LIB_CLUSTER_JOB_H
/*
 * One command run to its end inside an event loop: its output collected with
 * a bound, and told to end (SIGTERM, a second later SIGKILL) when it has been
 * silent for too long, or prints without end. The caller owns the struct and may use it again.
 */
#include "lib/cluster/child.h"
#include "lib/core/text.h"
#include "lib/net/loop.h"

enum { JOB_TAIL = 4096, JOB_ENDLESS = 16 << 20 };

struct job {
	/* set by the caller */
	uint64_t deadline_ns; /* the longest silence */
	bool is_way;	      /* child_start_way(); and: */
	const char *held_by;  /* child_start_held() */
	const char *over;     /* how a line of stderr begins: what was to be run has ended; NULL */
	size_t max_output;    /* of stdout; what goes on without end is ended */
	void (*ended)(struct job *j); /* may start it again */

	/* what came of it, complete when ended() is called */
	int status, signal; /* as child_ended() */
	bool timed_out, truncated, endless;
	bool lingers; /* it was over, and its way held by something of it: that goes on */
	bool asks;    /* a way's silence: it waits for a person (way_asks()) */
	struct text out;
	char tail[JOB_TAIL + 1]; /* the end of stderr */
	uint64_t took_ns;

	/* private */
	struct loop *loop;
	struct child child;
	struct io out_io, err_io, exit_io;
	struct timer timer;
	size_t tail_n, quits, spilt; /* spilt: not kept; of stderr, all */
	bool is_over;
	uint64_t start_ns;
};

int job_start(struct job *j, struct loop *l, char *const *argv, struct arena *a,
	      struct err *e) MUST_CHECK;
bool job_running(const struct job *j);
void job_quit(struct job *j);	 /* ask it to end; the second time it has to */
bool job_collect(struct job *j); /* calls ended() if it has ended; for when the loop is over */
void job_done(struct job *j);	 /* ends it without a word */

#endif
