#ifndef PROBES_LOG_WRAPPED_H
#define PROBES_LOG_WRAPPED_H
/*
 * The command behind --, run to its end with all that it says read along. How
 * it ended, which its words may not say, is judged with them, and the dumps
 * that it told of are read.
 */
#include "probes/log/explain.h"
#include "probes/log/source.h"

struct wrapped {
	char **argv; /* NULL: none was given */
	int code;    /* as a shell has it; -1: it was not run */
	bool lost;   /* not all that it said could be passed on, or it could not be started */
};

int wrapped_read(struct wrapped *x, struct why *w, const struct source_watch *watch,
		 struct err *e) MUST_CHECK;
/* Nothing that it said was lost, so it was not there to say anything. */
bool wrapped_never_began(const struct wrapped *x, const struct why *w);
/* It went well, or it ended as told or was not started by a shell that said so, and the log has
 * nothing to say: that needs no explanation. */
bool wrapped_is_plain(const struct wrapped *x, const struct why *w,
		      const struct explanation *found);

#endif
