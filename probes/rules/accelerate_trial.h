#ifndef PROBES_RULES_ACCELERATE_TRIAL_H
#define PROBES_RULES_ACCELERATE_TRIAL_H
/* What the parts of accelerate_refuses() share: each says true when it has found a reason. */
#include "probes/rules/accelerate.h"

struct trial {
	const struct accelerate *c;
	struct arena *a;
	const str_list *but; /* keys of which the reason is known; NULL: none */
	struct accelerate_refusal *found;
	struct accelerate_refusal *guess; /* the first one, while nothing certain is found */
	long machines, processes, rank;	  /* where they are numbers */
};

bool trial_refuse(struct trial *t, const char *key, const char *why, const char *fix);
/* Where the version is not known, what was just refused becomes a guess, and the search goes on:
 * false then. @since: the version that began to refuse it; 0: the reason says that. */
bool trial_doubt(struct trial *t, unsigned since);
/* What ends it while it reads the file. */
bool trial_by_file(struct trial *t);
/* Is it a distributed_type for several GPUs, or cards like them? */
bool trial_is_for_cards(const char *type);

#endif
