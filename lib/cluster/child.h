#ifndef LIB_CLUSTER_CHILD_H
#define LIB_CLUSTER_CHILD_H
/*
 * A child process with nothing on stdin and pipes for what it says. It leads
 * its own process group, so that ending it ends its helpers too, and the
 * kernel ends it when we die, however we die. child_done() closes the pipes;
 * who takes one over leaves -1 there.
 *
 * A way to a host (an ssh, a wrapper around kubectl) is others': it has no terminal, so that what
 * would wait there for a person says so and ends; and its helpers end with us, too, and what is
 * stopped. One may be held by its stdin: it has a line there, and its end when we are gone or
 * have had enough.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/core/quote.h"
#include "lib/core/text.h"

struct child {
	pid_t pid;	       /* 0: none */
	int out, err;	       /* our ends of its stdout and stderr, not blocking; -1 when closed */
	int in;		       /* our end of its stdin; -1: it has nothing there */
	int exit_fd;	       /* readable when it is time to ask child_ended() */
	volatile pid_t *guard; /* child_guard.h; NULL: of our own programs */
	bool leaves_kin;       /* ended by itself it leaves its group alone, as a login does */
};

int child_start(struct child *c, char *const *argv, struct err *e) MUST_CHECK;
int child_start_way(struct child *c, char *const *argv, struct err *e) MUST_CHECK;
int child_start_held(struct child *c, char *const *argv, const char *line,
		     struct err *e) MUST_CHECK;
void child_let_go(struct child *c);		   /* its stdin ends */
void child_signal(const struct child *c, int sig); /* the whole group */
/*
 * True once it has ended: the status is its exit code, or -1 and the signal.
 * What is left of its group ends with it, unless it leaves_kin. Never waits.
 */
bool child_ended(struct child *c, int *ret_status, int *ret_signal);
/* "killed by signal 9 (SIGKILL)", "exit code 3" */
const char *child_ending(int status, int sig, struct arena *a);
/* Ends and reaps it in about a second at most; no-op when there is none. */
void child_done(struct child *c);

/* Appends what a command says on stdout, until it is through, has said @max bytes or its time is
 * over; then it is ended. Nothing where it cannot be started. */
void child_answer(char *const *argv, uint64_t deadline_ns, size_t max, struct text *out);

#endif
