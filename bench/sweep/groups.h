#ifndef BENCH_SWEEP_GROUPS_H
#define BENCH_SWEEP_GROUPS_H
/*
 * Ranks in several groups, as tensor, data and expert parallel jobs have them: which rank is in
 * which. In words (--groups), as nccl-tests' NCCL_TESTS_SPLIT has them, or as a list:
 *
 *	mod 8	rank % 8	div 8	rank / 8	and 0x7 (mask 0x7)	rank & 7
 *	or 0x7	rank | 7	also % / & |; numbers as strtoul() reads them, and 0b101
 *	0-3;4-7 or 0,8,16;1,9,17: the ranks of each; a rank that is in none looks on
 *	... each 8: a process is so many ranks, and the words are of processes
 *
 * A group's number is what its ranks come to, as in nccl-tests' "Group" column; of a list its
 * place. Pure.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

enum groups_how { GROUPS_MOD, GROUPS_DIV, GROUPS_AND, GROUPS_OR, GROUPS_LIST };
struct groups_range {
	int first, last, group;
};
struct groups_spec {
	enum groups_how how;
	int value, each;
	LIST(struct groups_range) ranges; /* of a list */
};

struct group {
	int id, n;
	const int *ranks; /* ascending */
};
struct groups {
	int n;		 /* at least one */
	struct group *v; /* by id */
	int size;	 /* all ranks, and */
	const int *of;	 /* by rank: an index into v; -1: it looks on */
	int members;	 /* ranks that are in one */
	int least;	 /* ranks of the smallest */
	int lead;	 /* whose figures a table has: that of the first rank in one */
};

/* Both -1 with ERR_USAGE. */
int groups_parse(const char *text, struct arena *a, struct groups_spec *ret,
		 struct err *e) MUST_CHECK;
/* Of @size ranks: a list may name one that is not there, or one twice. */
int groups_of(const struct groups_spec *s, int size, struct arena *a, struct groups *ret,
	      struct err *e) MUST_CHECK;
/* By rank its group's number, -1: none. False: all look on. */
bool groups_from_ids(const int *ids, int size, struct arena *a, struct groups *ret);
static inline int groups_lead_size(const struct groups *g) { return g->v[g->lead].n; }
/* Of several sizes: a table, which has the lead's bandwidth by the time of all, says it of none. */
static inline bool groups_differ(const struct groups *g) { return g->n * g->least != g->members; }

/* "rank 3", "ranks 0-3", "ranks 3, 11, 19"; of many the first ones. */
const char *group_ranks_text(const struct group *g, struct arena *a);

#endif
