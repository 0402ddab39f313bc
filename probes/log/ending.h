#ifndef PROBES_LOG_ENDING_H
#define PROBES_LOG_ENDING_H
/*
 * What a log says of its own end: that a program came to it, that the job ended
 * well or with an error, and that something which failed was tried again and
 * worked. It says what was heard; whom that clears is settled in settle.c.
 */
#include "probes/log/line.h"

enum { ERRANTS = 8, SUBJECT = 24 };

/* Who ended: "trainer-1", "8812.0"; "": not said. */
struct subject {
	char name[SUBJECT];
};

/* Of one source; all zero at its beginning. Lines count from 1, 0: there was none. */
struct ending {
	uint64_t well, again;		/* the job ended well; the ranks were started again */
	struct log_who who;		/* who says that it ended well */
	uint64_t tests;			/* a session of tests began */
	bool is_of_tests;		/* all tests passed: that is the word of its end */
	bool is_failed;			/* the last that it says of its end is an error */
	struct subject errant[ERRANTS]; /* those that ended with an error and not well since */
	unsigned nerrants;
};

/* Is it the end of the whole, and not of an epoch or a fold? @l has one of the words. */
bool ending_is_whole(const struct log_line *l);
/* A line with an exit code or a word of how a job ended. */
void ending_hear(struct ending *e, uint64_t line, const struct log_line *l);
/* Something was tried again, and that worked. @l has one of the words. */
bool ending_is_heal(const struct log_line *l);
/* Does a failure's line speak of the file @name, by its address? */
bool ending_names(const char *text, const char *name);
/* Not of two different ranks or hosts, as far as both are known. */
bool ending_is_of(const struct log_who *sign, const struct log_who *who);

#endif
