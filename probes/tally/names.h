#ifndef PROBES_TALLY_NAMES_H
#define PROBES_TALLY_NAMES_H
/* A set of names: is this one of ten thousand hosts? They stay the caller's. */
#include "lib/cluster/hostlist.h"

struct names {
	const char **slots;
	size_t size, n; /* size: a power of two, or 0 */
};
bool names_has(const struct names *s, const char *name);
void names_add(struct names *s, struct arena *a, const char *name);

/* "node[0-3]", whatever the order in which they came; node2 before node10. Sorts @l. */
const char *names_fold(struct arena *a, host_list *l);
/* The same for people: of a list that is long however it is folded the first, and how many more. */
const char *names_brief(struct arena *a, host_list *l);
/* "node1: is down", "node1 is down": @said of a host whose name stands before it anyway. */
const char *names_after(const char *said, const char *host);

#endif
