#ifndef PROBES_STACKS_ADVICE_H
#define PROBES_STACKS_ADVICE_H
/* What to do about where ranks stand. */
#include "probes/stacks/stand.h"

enum { ADVICE_FIXES = 4 };

struct advice {
	const char *fix[ADVICE_FIXES]; /* NULL-ended */
	const char *subject;	       /* "data", "checkpoint" */
	const char *worker;	       /* "; its worker 4712 is in load (data.py:9)", or "" */
};

/* The others, of which @waiter is one, wait for this one. */
void advice_astray(const struct stand *s, const struct stand *waiter, struct arena *a,
		   struct advice *ret);
/* All are in the same. */
void advice_together(const struct stand *s, size_t ranks, struct arena *a, struct advice *ret);
/* They are in different ones. @sure: that is wrong, whatever groups there are. */
void advice_order(bool sure, struct advice *ret);
/* @ended: processes of a host are not there; else they are on others. @asked: several were. */
void advice_missing(bool ended, bool asked, struct advice *ret);
/* Nobody stands out. */
void advice_again(const struct stand *s, struct advice *ret);

#endif
