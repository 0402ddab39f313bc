#ifndef PROBES_STACKS_TAKE_H
#define PROBES_STACKS_TAKE_H
/* Looks at the ranks of this host, again and again for two seconds: what does each do, and does it
 * get on? Nothing is stopped. */
#include "probes/stacks/ranks.h"
#include "probes/stacks/stand.h"

void stands_take(const struct rank_processes *ranks, struct arena *a, stand_list *ret);

#endif
