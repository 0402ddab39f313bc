#ifndef PROBES_STACKS_JUDGE_H
#define PROBES_STACKS_JUDGE_H
/*
 * Who waits for whom, by where the ranks of a job stand: findings, and a cause
 * (data.causes[]) for what is sure. Of several jobs each by itself. Pure but for
 * the report.
 */
#include "lib/report/report.h"
#include "probes/stacks/stand.h"

/* @hosts: how many were asked; 0: this one alone. */
void stacks_judge(const stand_list *all, size_t hosts, struct report *r);

/* NOBODY: there is no rank; UNREAD: some could not be looked at, and may be what is wrong;
 * BROKEN_OFF: nobody wanted to know any more. */
enum brief_kind { BRIEF_NOBODY, BRIEF_WELL, BRIEF_WRONG, BRIEF_UNREAD, BRIEF_BROKEN_OFF };
struct stacks_brief {
	enum brief_kind kind;
	const char *said; /* the first of what is wrong, or who was not looked at; else NULL */
	const char *fix;  /* may be NULL */
};
/* What stacks_judge() would say, in a sentence. */
struct stacks_brief stacks_brief(const stand_list *all, struct arena *a);

/* --- between judge.c and those who speak for it ----------------------------------- */

typedef LIST(const struct stand *) stand_set;
/* Ranks at one place of the program. */
struct spot {
	const struct stand *of;
	stand_set in;
};
typedef LIST(struct spot) spot_list;

/* One thing that was found. */
struct stack_verdict {
	const char *check, *subject;
	const char *id;	    /* of the cause; NULL: none */
	enum status status; /* ST_FAIL: a confident cause */
	bool is_unread;	    /* of ranks that could not be looked at */
	const char *message;
	str_list fix;
};

/* One job, while it is judged. */
struct inquest {
	struct arena *a;
	stand_set all;	 /* by rank */
	spot_list spots; /* the fullest first */
	size_t hosts;
	bool has_doubles;    /* two processes with one rank */
	bool is_one_of_many; /* jobs: each is named */
	LIST(struct stack_verdict) found;
	const struct stand *odd; /* whose stack is shown */
};

/* "rank 3 (node1, pid 4711)", "ranks 0-2" */
const char *stacks_who(struct arena *a, const stand_set *set);
/* "in all_reduce (train.py:88)", "in load (data.py:17: x = q.get())" */
const char *stacks_where(struct arena *a, const struct stand *s);
/* "ranks 0-2 wait in all_reduce (train.py:88)" */
const char *stacks_waiters(struct arena *a, const stand_set *set);
/* The findings, the table of all places, and the stack of the odd one. */
void stacks_tell(const struct inquest *q, struct report *r);

#endif
