#ifndef PROBES_LOG_DUMPS_H
#define PROBES_LOG_DUMPS_H
/*
 * The dumps of PyTorch's Flight Recorder among what ncclwhy reads: which files
 * a log says were written, and what the dumps show, ranked among the causes of
 * the logs beside them.
 */
#include "lib/report/report.h"
#include "probes/log/explain.h"
#include "probes/log/line.h"

/* Does a source that begins so hold a dump? */
bool dumps_begin(const char *head, size_t n);
/* Takes what @fd goes on with after @head. */
int dumps_read(struct why *w, int fd, const char *path, const char *head, size_t n,
	       struct err *e) MUST_CHECK;
/* A line says that one was written, and mostly where. */
void dumps_learn(struct why *w, struct why_stream *s, const struct log_line *l);
/* Reads those that the log of a command told of, where they are newer than its start (seconds since
 * 1970), and says so on stderr. */
void dumps_read_told(struct why *w, int64_t since);
void dumps_done(struct why *w);

/* After the causes of the logs have their words. */
void dumps_explain(struct why *w, struct arena *a, struct explanation *x);

/* data.flight. */
void dumps_data(const struct why *w, const struct explanation *x, cJSON *o);
/* A finding where they show that nothing hangs. */
void dumps_healthy(const struct explanation *x, struct report *r);
/* "the dumps of 4 ranks"; NULL: there are none. */
const char *dumps_covered(const struct explanation *x, struct arena *a);

#endif
