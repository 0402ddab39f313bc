#ifndef BENCH_SWEEP_BLAME_H
#define BENCH_SWEEP_BLAME_H
/*
 * Which rank is at fault where ranks are lost: from what they say of each other, and from what
 * those saw who keep them. Every word may change the answer; in which order they are heard is
 * chance, and must not.
 */
#include "lib/core/arena.h"

struct accusation {	     /* what a rank says about the one that it lost */
	int by, rank, other; /* other: nothing passes between the two; -1: it is one alone */
	const char *message;
};

struct blame {
	int rank; /* at fault; -1: none */
	const char *message;
	str_list causes; /* how each rank ended, as its agent saw it; NULL: in order */
	LIST(struct accusation) accusations; /* in the order in which they came */
};
#define BLAME_NOBODY                                                                               \
	(struct blame) { .rank = -1 }

/* "nothing passes between rank 1 (...) and rank 2 (...)": 2; -1: no such sentence. */
int blame_other(const char *message);
/* All words have to live as long as @b. */
void blame_accuse(struct blame *b, struct arena *a, int by, int rank, const char *message);
/* The next rank ended so; NULL: in order. */
void blame_end(struct blame *b, struct arena *a, const char *cause);
/* Who saw it die says so: @name is the rank in full. */
void blame_death(struct blame *b, struct arena *a, size_t rank, const char *name,
		 const char *cause);

#endif
