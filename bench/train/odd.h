#ifndef BENCH_TRAIN_ODD_H
#define BENCH_TRAIN_ODD_H
/*
 * Of what every rank said of itself: who is unlike most. Pure. Where the ranks of each host are
 * alike, each host has one vote, however many ranks it has. Of two, or without a majority, nobody
 * can tell who is right.
 */
#include "lib/core/base.h"

struct odd {
	int rank;     /* the first that is unlike ... */
	int like;     /* ... this one: the first of most, or rank 0 */
	int more;     /* others that have what @like has */
	bool is_told; /* a majority says so */
};

/* @all: what each said, @n times @each bytes; @host: by rank, its host's number. .rank is -1 where
 * all are alike. */
struct odd odd_find(const void *all, size_t each, int n, const size_t *host);

#endif
