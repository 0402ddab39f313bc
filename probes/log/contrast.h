#ifndef PROBES_LOG_CONTRAST_H
#define PROBES_LOG_CONTRAST_H
/*
 * What each machine says of one thing that must be alike everywhere, however often it says it: who
 * started again says a newer one. Two differ where none of the one's is any of the other's.
 * Bounded.
 */
#include "lib/core/base.h"

enum { CONTRAST_MAX = 32 };

struct contrast {
	unsigned n;
	struct contrasted {
		char by[64], value[64];
	} v[CONTRAST_MAX];
};

/* @by: "" is nobody, who counts not. */
void contrast_note(struct contrast *t, const char *by, const char *value);
/* The first values of two that differ; false: all are alike. */
bool contrast_find(const struct contrast *t, const struct contrasted **ret_one,
		   const struct contrasted **ret_other);

#endif
