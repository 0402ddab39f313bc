#ifndef PROBES_LOG_AFAR_H
#define PROBES_LOG_AFAR_H
/*
 * Logs and dumps that lie on the hosts of a job, each host's in its own folders: read there, and
 * judged together. A host that cannot be reached, or has no such file, is a finding, and what the
 * others have is read all the same.
 */
#include "lib/cluster/hostlist.h"
#include "lib/report/report.h"
#include "probes/log/why.h"

struct afar {
	const host_list *hosts;
	const str_list *files; /* as they are called there, patterns too */
	const char *rsh;
	const char *save; /* a folder to keep them in; NULL: they are not kept */
	uint64_t deadline_ns;
};

/* -1: nothing could be read anywhere, or this host could not do it. */
int afar_read(struct why *w, const struct afar *q, struct report *r, struct err *e) MUST_CHECK;

#endif
