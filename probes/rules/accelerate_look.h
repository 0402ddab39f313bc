#ifndef PROBES_RULES_ACCELERATE_LOOK_H
#define PROBES_RULES_ACCELERATE_LOOK_H
/* What the parts of accelerate_check() share. */
#include "probes/rules/accelerate.h"

struct look {
	const struct accelerate *c;
	const struct rules_input *in;
	struct arena *a;
	struct report *r;
	long machines, processes, rank;
	enum status bad;  /* how bad what keeps it from training is */
	str_list refused; /* the keys for which accelerate does not start */
	size_t wrong;
};

struct finding *look_wrong(struct look *l, const char *what); /* lint.accelerate.WHAT */
void look_fix(const struct look *l, struct finding *f, const char *key, const char *value);
/* Is machine_rank one that there is? */
bool look_is_rank(const struct look *l);
/* The address of ours that the others should be told, or a word for that of rank 0's machine. */
const char *look_address_to_tell(const struct look *l);
void look_at_address(struct look *l);

#endif
