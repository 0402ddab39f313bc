#ifndef PROBES_LOG_UNEVEN_H
#define PROBES_LOG_UNEVEN_H
/*
 * How much each rank has to do, where ranks say it: "step 40/1198", "1198 batches", "161 shards".
 * Ranks of one job that have different numbers of batches part at the end of an epoch. Of the first
 * UNEVEN_RANKS ranks, each of a kind that was said last.
 */
#include "probes/log/line.h"

enum { UNEVEN_RANKS = 256, UNEVEN_KINDS = 2 };

struct uneven {
	uint32_t all[UNEVEN_KINDS][UNEVEN_RANKS]; /* 0: not said */
};

struct why;
struct why_stream;

#define UNEVEN_ANCHORS " step | batch | iter |[step |[batch | batches| shards| minibatches"

void uneven_hear(struct why *w, struct why_stream *s, const struct log_line *l);

#endif
