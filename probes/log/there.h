#ifndef PROBES_LOG_THERE_H
#define PROBES_LOG_THERE_H
/* A question to ncclwhy on other hosts, which is brought along where that was asked for. */
#include "probes/iface/fleet.h"

/* As typed. */
struct there {
	const host_list *hosts;
	const char *given, *rsh; /* --hosts; --rsh, or NULL */
	bool copy_self, keep;
	uint64_t deadline_ns;
};

/*
 * `ncclwhy ARGS --json` on each; a host that does not answer is a finding in @r. @mode: what stands
 * between our name and --hosts where the line is typed once more. @programs: what goes along
 * besides, NULL-ended.
 */
int there_ask(const struct there *t, const char *mode, const char *const *programs,
	      const str_list *args, struct report *r, struct answers *ret,
	      struct err *e) MUST_CHECK;

#endif
