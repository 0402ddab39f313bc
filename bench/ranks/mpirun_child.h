#ifndef BENCH_RANKS_MPIRUN_CHILD_H
#define BENCH_RANKS_MPIRUN_CHILD_H
/*
 * An mpirun as a child of the command that a person started: it is told of a Ctrl-C,
 * it does not wait for ever for a rank that is stuck, and it does not outlive us.
 *
 *	mpirun_child_start(&m, argv, out, err, e);
 *	while (there is something to hear)
 *		mpirun_child_hurry(&m);		... several times a second
 *	status = mpirun_child_end(&m, NULL);
 *
 * Its ranks' standard input is a line to us: rank 0 may heed its end, and then has time
 * to say what was finished. An mpirun that gets a signal itself ends its ranks at once.
 */
#include "bench/ranks/mpirun.h"

struct mpirun_child {
	pid_t pid, guard;
	int line;	     /* its standard input */
	bool heeded;	     /* by rank 0: see mpirun_heed() */
	bool patient;	     /* it ends by itself in time, and is only told of a Ctrl-C */
	int told;	     /* how often it was made to end, less and less kindly */
	uint64_t give_up_ns; /* mpirun waits for ever for a stuck rank; 0: no rank is lost */
	const int *ending;   /* atomic: how often rank 0 said so; it has more time then. NULL */
	int heard;	     /* of these */
	bool is_over;	     /* all is said: see mpirun_child_over() */
};

/* Starts @argv; its outputs stay the caller's, and so do the two flags. */
int mpirun_child_start(struct mpirun_child *m, const char *const *argv, int out, int err,
		       struct err *e) MUST_CHECK;
void mpirun_child_hurry(struct mpirun_child *m);
/* It has a moment to end from now on: a rank is lost, or all is said. */
void mpirun_child_over(struct mpirun_child *m);
/* Waits for it, hurrying; @over (atomic, may be NULL): mpirun_child_over() when it is set. As
 * waitpid() has it. */
int mpirun_child_end(struct mpirun_child *m, const int *over);

/* --- in its ranks (elsewhere they do nothing) --- */

/*
 * Before anything else: goes on in a child, which is the rank from now on. Of a rank
 * that dies by a signal mpirun kills the others, before they can say who it was, and
 * knows no more itself; this way it ends with an exit code, and @events hears how:
 *	{"ev":"died","rank":1,"cause":"killed by signal 9 (SIGKILL)"}
 */
void mpirun_shelter(int events);
/*
 * Rank 0, when it has no more children to make: the end of its standard input is a Ctrl-C.
 * On a busy machine the end takes a while: as long as it is alive @events hears
 *	{"ev":"ending"}
 * though not for ever.
 */
void mpirun_heed(int events);

#endif
