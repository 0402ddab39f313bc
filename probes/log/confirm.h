#ifndef PROBES_LOG_CONFIRM_H
#define PROBES_LOG_CONFIRM_H
/*
 * Looks for what the causes claim, on this host or on those of the job, and
 * ranks them again. A cause whose log names its host is decided by that host;
 * another is confirmed by any host that shows it, and weighs less only when
 * all hosts were asked and none shows it.
 */
#include "lib/cluster/hostlist.h"
#include "lib/report/report.h"
#include "probes/log/explain.h"
#include "probes/log/there.h"

void confirm(struct explanation *x, uint64_t deadline_ns, struct arena *a);
/* The same on the job's hosts; @files: of the command line, for the same one once more. */
int confirm_hosts(struct explanation *x, const struct there *q, const str_list *files,
		  struct report *r, struct err *e) MUST_CHECK;
/* What was seen, after the causes were told. */
void confirm_tell(const struct explanation *x, struct report *r);

#endif
