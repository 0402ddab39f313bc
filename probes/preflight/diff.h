#ifndef PROBES_PREFLIGHT_DIFF_H
#define PROBES_PREFLIGHT_DIFF_H
/*
 * Two runs compared: what fails now and did not (FAIL), what began to warn or
 * became slower (WARN), what is well again (PASS), what else changed (INFO).
 */
#include "probes/tally/tally.h"

/* Adds findings diff.* to @t; the stage is for their place among others. */
void runs_diff(struct tally *t, unsigned stage, const cJSON *old, const cJSON *now);

#endif
