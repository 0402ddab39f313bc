#ifndef PROBES_PREFLIGHT_DIFF_TESTED_H
#define PROBES_PREFLIGHT_DIFF_TESTED_H
/*
 * Was what an earlier run found wrong tested again? What a later run does not say any more
 * has become well only then: not where its stage was left out, cut short or not reached, and
 * not on a host that gave no answer.
 */
#include "lib/report/report.h"
#include "probes/tally/names.h"

struct diff_stage_of {
	const char *check, *stage;
};
struct diff_tested {
	struct arena *a;
	const cJSON *stages, *left_out; /* of the later run; NULL: it does not say */
	LIST(struct diff_stage_of) of;
	struct names without; /* "STAGE HOST" that broke or was skipped there; "HOST" is mute */
};

void diff_tested_init(struct diff_tested *x, struct arena *a, const cJSON *old, const cJSON *now);
/* @f: of the earlier run; @host: whose it is, as the later run calls that host. */
bool diff_was_tested(const struct diff_tested *x, const cJSON *f, const char *host);

#endif
