#ifndef PROBES_LOG_LONER_H
#define PROBES_LOG_LONER_H
/*
 * One rank that is busy alone while the others wait for it in a collective:
 * it saves a checkpoint, or it works on while they stand in a barrier. Judged
 * when a collective timed out, of what was said before that.
 */
#include "probes/log/explain.h"

/* After who waited where is known. */
void loner(struct why *w, struct arena *a, struct explanation *x);

#endif
