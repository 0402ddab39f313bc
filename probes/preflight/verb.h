#ifndef PROBES_PREFLIGHT_VERB_H
#define PROBES_PREFLIGHT_VERB_H
/*
 * What windsock does instead of a pre-flight, by the first word of its command line:
 *
 *	windsock diff OLD NEW		what became worse from one run to another
 *	windsock on HOSTS COMMAND	a line that is typed on many hosts
 *
 * A third word, join, is known before there are options (lib/cluster/launch.h).
 */
#include "probes/preflight/preflight.h"

extern const char *const verb_names[]; /* all three; NULL-terminated, for struct command */

/* Options that were given, but are of a pre-flight: what nobody looks at was meant for something.
 */
struct verb_options {
	bool page;   /* --report */
	bool others; /* --hosts, --here, --nodes, --baseline */
};
/* Is the first of @words a verb, and are the others what it takes? ERR_USAGE. */
int verb_check(const str_list *words, const struct verb_options *o, struct arena *a,
	       struct err *e) MUST_CHECK;
/* @words were checked. Findings. */
int verb_run(struct preflight *p, const str_list *words, struct err *e) MUST_CHECK;

#endif
