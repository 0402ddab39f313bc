#ifndef PROBES_LOG_UNEVEN_H
#define PROBES_LOG_UNEVEN_H
/*
 * How much each rank has to do, where ranks say it: "step 40/1198", "1198 batches", "161 shards".
 * Ranks of one job that have different numbers of batches part at the end of an epoch. Of the first
 * UNEVEN_RANKS ranks, by what is counted. Who says two numbers of a kind (training, and then
 * validation) is left out.
 */
#include "probes/log/line.h"

enum { UNEVEN_RANKS = 256, UNEVEN_KINDS = 4, UNEVEN_VARIES = UINT32_MAX };

struct uneven {
	uint32_t all[UNEVEN_KINDS][UNEVEN_RANKS]; /* 0: not said; UNEVEN_VARIES */
};

struct why;
struct why_stream;

#define UNEVEN_ANCHORS " step | batch | iter |[step |[batch | batches| shards| minibatches"

void uneven_hear(struct why *w, struct why_stream *s, const struct log_line *l);

#endif
