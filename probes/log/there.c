#include "probes/log/there.h"

int there_ask(const struct there *t, const char *mode, const char *const *programs,
	      const str_list *args, struct report *r, struct answers *ret, struct err *e)
{
	AUTO(carry_done) struct carry carry = {0};
	struct arena *a = report_arena(r);
	const struct carry_opts copy = {.hosts = t->hosts,
					.rsh = t->rsh,
					.programs = programs,
					.keep = t->keep,
					.deadline_ns = t->deadline_ns};
	struct fleet f = {.command = "ncclwhy",
			  .mode = mode,
			  .carry = &carry,
			  .given = t->given,
			  .hosts = *t->hosts,
			  .rsh = t->rsh,
			  .deadline_ns = t->deadline_ns,
			  .a = a,
			  .report = r};

	if ((t->copy_self || t->keep) && carry_begin(&copy, a, &carry, e))
		return -1;
	return fleet_ask(&f, args, false, ret, e);
}
