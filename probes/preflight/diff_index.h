#ifndef PROBES_PREFLIGHT_DIFF_INDEX_H
#define PROBES_PREFLIGHT_DIFF_INDEX_H
/*
 * The findings of a run by what they are about (check, subject, host): runs of many
 * hosts have hundreds of thousands, and not always in the same order.
 */
#include "lib/report/report.h"
#include "probes/tally/names.h"

struct diff_index {
	struct diff_slot {
		const cJSON *f; /* NULL: free */
		bool taken;
	} * slots;
	size_t mask;
	const char *own;
};

/* @own: a host that stands for its counterpart in the other run; NULL: none does. */
void diff_index_init(struct diff_index *x, struct arena *a, const cJSON *findings, const char *own);
/* One about the same that was not taken yet, with the same status where there is one; else one that
 * was, with that status; NULL: there is none. @own: of the run that @like is of. */
const cJSON *diff_index_take(struct diff_index *x, const cJSON *like, const char *own);

/* The nodes of a run by their hosts. */
struct diff_nodes {
	const cJSON **v; /* sorted */
	size_t n;
};
void nodes_init(struct diff_nodes *x, struct arena *a, const cJSON *nodes);
const cJSON *nodes_find(const struct diff_nodes *x, const char *host); /* NULL: not there */

#endif
