#ifndef PROBES_PREFLIGHT_FACTS_H
#define PROBES_PREFLIGHT_FACTS_H
/*
 * What a host is, in a few words and numbers (data.facts of `windsock --here`),
 * and where hosts differ: the odd one is named against the majority.
 */
#include "probes/iface/fleet.h"
#include "probes/preflight/preflight.h"

void facts_gather(struct arena *a, const str_list *same, cJSON *into);
double facts_clock(void); /* seconds since 1970 */
/* "2.5.1+cu124" of the Python that a job would run, or NULL. */
const char *facts_torch(struct arena *a);

/* The drift stage: compares all answers, asked between these two moments. */
void preflight_drift(struct preflight *p, const struct answers *all, double asked, double answered);

#endif
