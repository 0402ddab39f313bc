#ifndef PROBES_STACKS_TAKE_H
#define PROBES_STACKS_TAKE_H
/* Looks at the ranks of this host, again and again for two seconds: what does each do, and does it
 * get on? Nothing is stopped. */
#include "probes/stacks/meanwhile.h"
#include "probes/stacks/ranks.h"
#include "probes/stacks/stand.h"

/* @m: NULL: nothing goes on meanwhile. False: that broke it off. */
bool stands_take(const struct rank_processes *ranks, const struct meanwhile *m, struct arena *a,
		 stand_list *ret);

#endif
