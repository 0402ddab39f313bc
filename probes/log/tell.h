#ifndef PROBES_LOG_TELL_H
#define PROBES_LOG_TELL_H
/* An explanation, as findings, remarks and data.causes[] of a report. */
#include "lib/report/report.h"
#include "probes/log/explain.h"

void tell(const struct why *w, const struct explanation *x, struct report *r);
/* The best cause in one line, or NULL where there is no confident one. */
const char *tell_briefly(const struct why *w, const struct explanation *x, struct arena *a);

#endif
