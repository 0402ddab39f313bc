#ifndef BENCH_SWEEP_COURSE_H
#define BENCH_SWEEP_COURSE_H
/*
 * How one case (a size, a type ...) went over hours, in memory that does not grow: sums of all its
 * rows, all their iterations' times in classes of 2 %, and of the rows themselves a choice: of a
 * time that had many every second, fourth ... of them, of one that had few all. Pure: the caller
 * says when a row was.
 *
 *	course_init(&c, row->c);
 *	course_add(&c, row, seconds);		each row of that case; only c.c is kept of it
 *	course_row(&c, a, &row);		all of them as one
 */
#include "bench/sweep/stall.h"
#include "lib/core/arena.h"

enum { COURSE_POINTS = 256, COURSE_CLASSES = 1200 };

struct course_point {	/* one row */
	double at_s;	/* its end, seconds after the start */
	float busbw[2]; /* out of place, in place */
	float robbed;	/* as struct measurement has it, the greater one */
};

struct course_way {		    /* out of place, or in place */
	double seconds, shown;	    /* sums */
	double least_s, most_s;	    /* of single iterations */
	double least, most;	    /* bus bandwidth of a row */
	double sum, squares, count; /* of single iterations */
	double wire;
	uint64_t wires;
	int64_t wrong;		 /* -1: never checked */
	double *rank_s, *waited; /* sums by rank; NULL: not known */
	uint32_t classes[COURSE_CLASSES];
};

struct course {
	struct coll_case c;
	uint64_t rows;
	struct course_way way[2];
	struct course_point points[COURSE_POINTS], latest;
	size_t npoints;
	double least, most;	  /* of all rows, each one's better way: bus bandwidth */
	struct stall_usual usual; /* kept by who looks for stalls */
};

void course_init(struct course *c, const struct coll_case *of);
bool course_is_of(const struct course *c, const struct coll_case *of);
/* @a: of what is kept by rank, once. */
void course_add(struct course *c, struct arena *a, const struct sweep_row *row, double at_s);
/* Means, extremes and percentiles over the whole time; ret->c points into @c. */
void course_row(const struct course *c, struct arena *a, struct sweep_row *ret);
/* The better way of a row. */
double course_busbw(const struct course_point *p);

#endif
