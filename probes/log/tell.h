#ifndef PROBES_LOG_TELL_H
#define PROBES_LOG_TELL_H
/* An explanation, as findings, remarks and data.causes[] of a report. */
#include "lib/report/report.h"
#include "probes/log/explain.h"

void tell(const struct why *w, const struct explanation *x, struct report *r);
/* The best cause in one line, or NULL where there is no confident one. *ret_fix: what to type, in
 * another; untouched where there is nothing. */
const char *tell_briefly(const struct why *w, const struct explanation *x, struct arena *a,
			 const char **ret_fix);

#endif
