#ifndef PROBES_LOG_CATALOGUE_H
#define PROBES_LOG_CATALOGUE_H
/* The failures that can be recognised in a log: data only, see catalogue.def. */
#include "lib/core/base.h"

enum tier { TIER_ROOT, TIER_EFFECT, TIER_GENERIC, TIER_WRAPPER, TIER_HINT };

struct signature {
	const char *id; /* "CON-001": API, never renamed */
	enum tier tier;
	int weight;	     /* 0 to 100 */
	const char *anchors; /* parted by | */
	const char *ere;
	const char *component, *meaning;
	const char *causes, *confirm, *fix; /* lists, one element per line */
};

enum { CONFIDENT = 50, ANCHOR_MIN = 6 };

extern const struct signature signatures[];
extern const size_t signature_count;

/* Its index, or -1. */
int signature_find(const char *id);

#endif
