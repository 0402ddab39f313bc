#ifndef PROBES_LOG_ALOUD_H
#define PROBES_LOG_ALOUD_H
/*
 * What is said on stderr while a command runs or a log grows: a cause once it is sure, and at every
 * stall what is known, with where the ranks of the command stand; while it goes on, what changed.
 */
#include "probes/log/source.h"

struct aloud {
	const char *told; /* the id that was said last */
	uint32_t stood;	  /* what was said of the ranks last; 0: that they are well */
};
/* source_watch.quiet; its argument is a struct aloud. */
void aloud_quiet(struct why *w, unsigned stalls, const struct source_command *of, void *arg);

#endif
