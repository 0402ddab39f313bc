#ifndef PROBES_PREFLIGHT_SERVE_H
#define PROBES_PREFLIGHT_SERVE_H
/*
 * `windsock --serve`: the same command line on this machine and on all that
 * join with the line that is printed; the answer is that of the first of them.
 * What is wrong with that line is to be said before: here it is only passed on.
 */
#include "lib/core/err.h"
#include "probes/preflight/preflight.h"

struct serve_opts {
	uint64_t wait, wait_ns, port; /* 0: one other; as long, and where, as is usual */
	char *const *argv;	      /* of this process, for each of them */
};

struct serve_missing {
	const char *why, *fix; /* NULL: nobody said so */
};

/*
 * True: they ran, and what there was to say is said; @ret_code is main's. False: none of them ran,
 * since we could not (then @e is filled) or since others were missing, as *ret says.
 */
bool serve_run(const struct serve_opts *o, struct arena *a, int *ret_code,
	       struct serve_missing *ret, struct err *e);
/* Others were missing: a finding of this process, since nobody else can report. Returns 0. */
int serve_tell_missing(struct report *r, const struct serve_missing *m);
/* This process is one of them: takes its part, and reports if it is the first. */
int serve_member(struct preflight *p, struct err *e) MUST_CHECK;

#endif
