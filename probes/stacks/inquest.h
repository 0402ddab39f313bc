#ifndef PROBES_STACKS_INQUEST_H
#define PROBES_STACKS_INQUEST_H
/* Between judge.c and there.c: what both say of a job, and how. */
#include "probes/stacks/judge.h"

struct advice;

/* With the job's name, where there are several. */
const char *inquest_subject(const struct inquest *q, const char *what);
/* One thing that was found. @id: of the cause, or NULL; ST_FAIL: it is sure. */
void inquest_find(struct inquest *q, const char *id, enum status status,
		  const struct advice *advice, const char *fmt, ...) PRINTF(5, 6);
/* "; ranks 0-2 wait in all_reduce (train.py:88)", or "" */
const char *inquest_waiters(const struct inquest *q, const stand_set *wait);
void inquest_select(const struct inquest *q, bool (*is_so)(const struct stand *), stand_set *ret);

/* --- there.c --- */
bool stand_is_unread(const struct stand *s);
void there_twice(struct inquest *q);
void there_unread(struct inquest *q);
/* Of a host by what its launcher counts there, and of the world. True: some are awaited, which is
 * why the others stand. */
bool there_missing(struct inquest *q, const stand_set *wait);

#endif
