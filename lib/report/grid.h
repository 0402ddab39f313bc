#ifndef LIB_REPORT_GRID_H
#define LIB_REPORT_GRID_H
/*
 * Rows under a header, for the table. A measured series is written row by
 * row, its columns growing when a cell needs more; a view is kept until it
 * ends and aligned as a whole, without the columns in which nothing is known.
 */
#include "lib/core/term.h"
#include "lib/report/report.h"

struct grid {
	const struct series *se; /* NULL: none is open */
	const char **head;
	size_t *width; /* 0: the column is not shown */
	LIST(const char **) rows;
};

/* @s as it may be shown: itself, or a harmless copy. */
const char *grid_shown(struct arena *a, const char *s);
void grid_begin(struct sink *s, const struct term *t, struct grid *g, const struct series *se);
void grid_add(struct sink *s, struct grid *g, const struct cell *cells);
void grid_end(struct sink *s, const struct term *t, struct grid *g);

#endif
