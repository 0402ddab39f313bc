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

/* Is the first of @words a verb, and are the others what it takes? @others: options are given that
 * are of a pre-flight alone. ERR_USAGE. */
int verb_check(const str_list *words, bool others, struct err *e) MUST_CHECK;
/* @words were checked. Findings. */
int verb_run(struct preflight *p, const str_list *words, struct err *e) MUST_CHECK;

#endif
