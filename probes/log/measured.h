#ifndef PROBES_LOG_MEASURED_H
#define PROBES_LOG_MEASURED_H
/*
 * What is no log of a failure: a table of nccl-tests, or what NCCL's Inspector recorded. Are those
 * figures normal? That is for ncclbench --analyze to say.
 */
#include "lib/report/report.h"
#include "probes/log/line.h"
#include "probes/log/why.h"

void measured_table(struct why *w, struct why_stream *s, const struct log_line *l);
void measured_record(struct why *w, struct why_stream *s, const struct log_line *l);
void measured_end(struct why *w, struct why_stream *s, const struct log_line *l);
/* A table ends with its average: one that has none was cut off, or its run hung. */
bool measured_is_cut(const struct why *w);
/* What to type, as a fix of @f; false: there is nothing of the kind. */
bool measured_tell(const struct why *w, struct finding *f);

#endif
