#ifndef PROBES_PREFLIGHT_DRIFT_H
#define PROBES_PREFLIGHT_DRIFT_H
/* The parts of the comparison between hosts. */
#include "probes/preflight/facts.h"

/* The finding drift.KEY (NULL: drift.same) of a host; NULL: of all of them. */
struct finding *drift_note(struct preflight *p, const char *key, const char *subject,
			   const char *host);
/* Two that call themselves alike, and one that was named twice. */
void drift_names(struct preflight *p, const struct answers *all);
/* Their clocks, asked between these two moments of ours. */
void drift_clocks(struct preflight *p, const struct answers *all, double asked, double answered);

#endif
