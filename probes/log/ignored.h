#ifndef PROBES_LOG_IGNORED_H
#define PROBES_LOG_IGNORED_H
/*
 * Exceptions that Python itself prints and goes on after: in a destructor, in what is called at
 * exit, in a handler of its logging. Their tracebacks look like any other's.
 */
#include "probes/log/line.h"

/* Of one source; all zero at its beginning. */
struct ignored {
	struct log_who who;  /* who said the latest that Python ignores one */
	uint64_t said, over; /* its line; that of the latest one's last words; 0: none */
	unsigned left;	     /* whose last words have not come yet */
};

/* @l, which is line @line, says that Python ignores what follows. */
void ignored_begin(struct ignored *g, uint64_t line, const struct log_line *l);
/* A traceback begins: one that nobody announced is a real one. */
void ignored_traceback(struct ignored *g, uint64_t line, const struct log_line *l);
/* Whether @l is of one that is ignored. Its last words, which are not indented, end it. */
bool ignored_has(struct ignored *g, uint64_t line, const struct log_line *l);

#endif
