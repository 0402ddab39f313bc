#ifndef PROBES_PREFLIGHT_PART_H
#define PROBES_PREFLIGHT_PART_H
/*
 * One sibling command run to its end as a child process. That it is missing,
 * crashes, hangs or prints junk is told in @ret, never an error: the
 * pre-flight goes on. Nothing of it runs any more when part_run() returns,
 * also after Ctrl-C.
 */
#include "lib/report/report.h"

struct part {
	cJSON *doc; /* its envelope; NULL: none came. part_done() frees it */
	int code;   /* its exit code; -1: it did not end by itself */
	bool missing, cut, interrupted;
	bool needless;	     /* it was stopped, because @over_fd said so */
	const char *trouble; /* a sentence when something was wrong with the run itself */
	uint64_t took_ns;
};

/* The program's path: beside our own, else on PATH; NULL when it is nowhere. */
const char *part_find(struct arena *a, const char *command);
/* Where part_find() looks, for people. */
const char *part_places(struct arena *a);
/* What is shown meanwhile, where there is a terminal (title NULL: nothing); and what ends it
 * early: that this can be read from (0: nothing). */
struct part_progress {
	const char *title;
	uint64_t done, total;
	int over_fd;
};

/* Runs `COMMAND ARGS` for at most @cap_ns. @args end with NULL. @shown may be NULL. */
void part_run(const char *command, const char *const *args, uint64_t cap_ns,
	      const struct part_progress *shown, struct arena *a, struct part *ret);
/* Does its --help have this option ("--hosts")? False when it cannot be asked. */
bool part_knows(const char *command, const char *option, uint64_t cap_ns, struct arena *a);
void part_done(struct part *p);

#endif
