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

/* For busy.c as well. Behind "Timeout(ms)=", of the first line that has it whole; 0: none has. */
long loner_limit_s(const struct cause *timeout);
/* Something names its reason, or failed before: then the timeout is its echo, whoever was busy. */
bool loner_is_echo(const struct explanation *x, const struct cause *timeout);

#endif
