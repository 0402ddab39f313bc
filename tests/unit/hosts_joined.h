#ifndef TESTS_UNIT_HOSTS_JOINED_H
#define TESTS_UNIT_HOSTS_JOINED_H
/* A list of hosts as one text, for the tests of host lists and of hostfiles. */
#include "lib/cluster/hostlist.h"
#include "lib/core/text.h"

/* "n1 n2:8": names and, where said, slots. */
static inline char *hosts_joined(struct arena *a, const host_list *l)
{
	struct text t;

	text_init(&t, a);
	for (size_t i = 0; i < l->n; i++) {
		text_addf(&t, "%s%s", i ? " " : "", l->v[i].name);
		if (l->v[i].slots)
			text_addf(&t, ":%u", l->v[i].slots);
	}
	return t.s;
}

#endif
