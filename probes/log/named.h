#ifndef PROBES_LOG_NAMED_H
#define PROBES_LOG_NAMED_H
/* The files and folders that somebody named, or stdin where nobody did: what cannot be read is
 * said, and all else is read all the same. */
#include "lib/report/report.h"
#include "probes/log/why.h"

int read_named(struct why *w, const str_list *names, struct report *r, struct err *e) MUST_CHECK;

#endif
