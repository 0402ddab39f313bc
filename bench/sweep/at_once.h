#ifndef BENCH_SWEEP_AT_ONCE_H
#define BENCH_SWEEP_AT_ONCE_H
/*
 * Pairs alone, and all of them at the same time: do hosts share something between them that has
 * not room for all (uplinks of a switch, the card of a hypervisor)? And which hosts share it:
 * groups within which pairs do not slow each other, while pairs across them do. Pure.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

enum {
	AT_ONCE_HOSTS = 4,   /* two pairs, at least */
	AT_ONCE_SAMPLE = 4,  /* so many pairs are tried alone, at most */
	AT_ONCE_TRIALS = 16, /* so many ways to group the hosts */
};
extern const double AT_ONCE_SHARE; /* of what pairs reach alone: below, they share something */

struct duo { /* two units that meet; GB/s each way, NAN: not measured */
	double alone, at_once;
	double unhindered; /* at once, as struct slow_input has it */
	/* Of units that share a machine: for how much of the time at once its ends had a processor
	 * or wanted one, added up (2: both always). NAN: they share none */
	double busy;
	double hindered; /* the share of the time alone in which an end wanted a processor */
	int a, b;
};
typedef LIST(struct duo) duo_list;

/* Units, each in one of the groups. */
struct grouping {
	int n, groups;
	int *of;
};
typedef LIST(struct grouping) grouping_list;

/* Everybody is in a pair of his group, but for the last one of an odd number: he meets who is half
 * the group away or, @near, who comes next. In the order of the groups. */
void duos_within(const struct grouping *g, bool near, struct arena *a, duo_list *ret);
struct grouping grouping_all(int n, struct arena *a); /* all are one */
/* Which of @n pairs is tried alone as number @k: from the first to the last one of them. */
size_t duo_sample(size_t n, size_t k);
size_t duo_samples(size_t n);

enum at_once_is {
	AT_ONCE_KEPT,	 /* as much as alone */
	AT_ONCE_SLOWER,	 /* they share something */
	AT_ONCE_UNKNOWN, /* processors decided, or it was not measured */
};
struct at_once {
	enum at_once_is is;
	double alone, together; /* GB/s each way, of all pairs: of what was tried alone the rest is
				 * taken to be like it */
	double ratio;		/* of those that were tried alone */
	double pair_alone, pair_together; /* the middle one's */
	double waited, busy;		  /* at once, the middle pair's: see CROWDED */
	size_t tried;			  /* alone */
};
struct at_once at_once_judge(const duo_list *l, struct arena *a);

/* --- at_once_who.c: who shares it ------------------------------------------------------------ */

/* What is known of each two units, n * n and symmetric: the least share of what they reach alone
 * while pairs slowed each other; NAN: not tried. */
struct at_once_seen {
	int n;
	double usual; /* GB/s alone, of units that were in no pair alone */
	double *best; /* of each unit: the most that it reached in any pair; NAN: not known */
	double *share, *might; /* as measured; without the time in which an end was robbed */
};
/* From @l, n lists of all units: each both alone and at once. Those that are slower are taken for
 * what they say of groups. */
void seen_begin(struct at_once_seen *s, int units, const duo_list *l, size_t n, struct arena *a);
/* The pairs of @l were slower at once. */
void seen_slower(struct at_once_seen *s, const duo_list *l);
/* At once they all keep what they may be expected to reach alone; together the share *ret_share. */
bool seen_keep(const struct at_once_seen *s, const duo_list *l, double *ret_share);

/* Ways to group @n units that a network may have: neighbours in the list, or every second (third
 * ...) one; groups of one size first, of these the fewest; then others. */
void groupings_of(int n, struct arena *a, grouping_list *ret);
/* Nothing that was seen speaks against it: who was slowed goes across, who was not stays within. */
bool grouping_fits(const struct grouping *g, const struct at_once_seen *s);

/* Measures pairs at once, and fills that in; of what is there the better counts. */
struct at_once_way {
	int (*measure)(void *arg, duo_list *l, struct err *e);
	void *arg;
	struct arena *a;
};
struct at_once_groups {
	const struct grouping *g; /* NULL: not found out */
	double share;		  /* of what they reach alone, pairs within these keep so much */
	int trials;
};
/* Groups whose pairs, at once, do not slow each other. */
int at_once_find(struct at_once_seen *s, const struct at_once_way *way, struct at_once_groups *ret,
		 struct err *e) MUST_CHECK;

#endif
