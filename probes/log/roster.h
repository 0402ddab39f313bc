#ifndef PROBES_LOG_ROSTER_H
#define PROBES_LOG_ROSTER_H
/*
 * Which number each process of a job says that it has, "GLOBAL_RANK: 1, MEMBER:
 * 2/8", and whether the numbers can be right: none beyond the world, none given
 * to two processes. A line that merely stands twice in the log (a logger with
 * two handlers, a log that was put together twice, a job that was started
 * again) is no second process.
 */
#include "probes/log/line.h"
#include "probes/log/muster.h"

struct roster_member {
	unsigned said, file;
	int label;     /* the launcher's number of who said it; -1: not said */
	uint64_t host; /* the same of its host; 0: not said */
	uint64_t line;
};

struct roster {
	long total;		    /* 0: nobody said it */
	unsigned lines;		    /* of this total */
	unsigned present, most;	    /* different numbers; how often the most frequent was said */
	unsigned present_at_repeat; /* ... when the first was said again; 0: none was */
	unsigned adjacent;	    /* lines right below their like */
	unsigned heads;		    /* rank 0's greeting, said before anybody's number was */
	uint64_t head_line;
	long by_two;		/* a number that two different speakers said; -1: none */
	long beyond, beyond_of; /* one that is not in the world; of 0: none */
	struct roster_member v[MUSTER_MAX];
};

/* @which of @total, from 0. @broke: the latest line of that file where something broke. */
void roster_note(struct roster *r, long which, long total, const struct log_who *who, unsigned file,
		 uint64_t line, uint64_t broke);

/* What rank 0 alone says, once, before the processes say their numbers; several processes that do
 * take themselves for rank 0. */
void roster_head(struct roster *r, uint64_t line);

/* Do two processes have one number? LIKELY: by the order of the lines alone. */
enum roster_twice { ROSTER_ONCE, ROSTER_LIKELY, ROSTER_TWICE };
enum roster_twice roster_judge(const struct roster *r);

#endif
