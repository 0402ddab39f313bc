#ifndef PROBES_PREFLIGHT_DIFF_OWN_H
#define PROBES_PREFLIGHT_DIFF_OWN_H
/* Between the files of `windsock diff`: what two runs said (diff.c), and what they measured. */
#include "probes/preflight/diff.h"
#include "probes/tally/names.h"

struct told { /* by a run */
	const cJSON *doc;
	struct names hosts;
};
struct compared {
	struct tally *t;
	unsigned stage;
	size_t same, changed;
	struct told then, now;
};

struct finding *diff_note(struct compared *c, const char *check, const char *subject,
			  enum status st);
/* Bandwidth and latency of a sweep, @of its stage; the pace of the training. */
void diff_sweep(struct compared *c, const char *of, const cJSON *old, const cJSON *now);
void diff_pace(struct compared *c, const cJSON *old, const cJSON *now);

#endif
