#ifndef PROBES_LOG_OWN_H
#define PROBES_LOG_OWN_H
/*
 * Findings of our own commands that quote NCCL and know no more than to ask ncclwhy: they get
 * what it would say, where it is sure.
 */
#include "lib/report/report.h"

/* report_opts.review */
void own_review(struct finding *f);

#endif
