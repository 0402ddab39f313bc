#ifndef PROBES_PREFLIGHT_ON_H
#define PROBES_PREFLIGHT_ON_H
/*
 * `windsock on HOSTS COMMAND`: a command line, for sh, on each of many hosts, so many at a time.
 * Each has a deadline, so one that hangs holds up nobody. What they say alike is said once; those
 * on which it failed are named, with the line that tries only them again.
 */
#include "lib/cluster/fanout.h"
#include "probes/tally/tally.h"

/* Can this be typed there? A variable that is not set makes an empty line, which would be done well
 * everywhere. @others: options are given that it has no use for. */
int on_check(const char *command, bool others, struct err *e) MUST_CHECK;
/* Findings host.command; what each of them wrote is its part of the report (nodes[]). */
int on_hosts(struct tally *t, const host_list *hosts, const char *command,
	     const struct fanout_opts *o, struct err *e) MUST_CHECK;

#endif
