#ifndef PROBES_LOG_VOTES_H
#define PROBES_LOG_VOTES_H
/*
 * What each rank says it decided by itself: the loss is better ("new best"), it is not, or the
 * training stops early. Where they disagree about one epoch, each goes its own way from there.
 * Bounded: of more than VOTES_MAX ranks the others are not heard.
 */
#include "lib/core/arena.h"
#include "probes/log/line.h"

struct why;
struct why_stream;

enum { VOTES_MAX = 64 };

struct vote {
	int rank;
	enum vote_kind { VOTE_BETTER, VOTE_NOT_BETTER, VOTE_STOP, VOTE_KINDS } kind;
	long of; /* the epoch or step that it names; where it names none, how many it said before */
};

/* The latest one of each rank. */
struct votes {
	struct vote v[VOTES_MAX];
	unsigned n;
};

void votes_hear(struct why *w, struct why_stream *s, const struct log_line *l);
/* "ranks 1 and 3: better; ranks 0 and 2: not better", of the latest epoch; NULL: they agree, or
 * only one spoke. */
const char *votes_split(const struct votes *t, struct arena *a);

#endif
