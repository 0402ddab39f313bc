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

void confirm(struct explanation *x, uint64_t deadline_ns, struct arena *a);
struct confirm_ask {
	const host_list *hosts;
	const char *given, *rsh; /* as typed */
	const str_list *files;	 /* for the same line once more */
	bool copy_self, keep;
	uint64_t deadline_ns;
};
/* The same over ssh or @rsh. A host that does not answer is a finding in @r. */
int confirm_hosts(struct explanation *x, const struct confirm_ask *q, struct report *r,
		  struct err *e) MUST_CHECK;
/* What was seen, after the causes were told. */
void confirm_tell(const struct explanation *x, struct report *r);

#endif
