#ifndef PROBES_PREFLIGHT_DRIFT_H
#define PROBES_PREFLIGHT_DRIFT_H
/* Where hosts differ: the odd one is named against the majority. */
#include "probes/iface/fleet.h"
#include "probes/preflight/preflight.h"

/* Which of them have settings that the ways between hosts must be asked about: for
 * preflight_published(). */
void preflight_find_published(struct preflight *p, const struct answers *all);

/* The drift stage: compares all answers, asked between these two moments. */
void preflight_drift(struct preflight *p, const struct answers *all, double asked, double answered);

/* ---- its parts ---- */

/* The finding drift.KEY (NULL: drift.same) of a host; NULL: of all of them. */
struct finding *drift_note(struct preflight *p, const char *key, const char *subject,
			   const char *host);
/* Two that call themselves alike, and one that was named twice. */
void drift_names(struct preflight *p, const struct answers *all);
/* One name, and other addresses on some of them. */
void drift_master(struct preflight *p, const struct answers *all);
/* One address that two of them have. */
void drift_addresses(struct preflight *p, const struct answers *all);
/* Their clocks, asked between these two moments of ours. */
void drift_clocks(struct preflight *p, const struct answers *all, double asked, double answered);

#endif
