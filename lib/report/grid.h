#ifndef LIB_REPORT_GRID_H
#define LIB_REPORT_GRID_H
/*
 * Rows under a header, for the table. A measured series is written row by
 * row, its columns growing when a cell needs more; a view is kept until it
 * ends and aligned as a whole, without the columns in which nothing is known; on
 * a terminal its rows take several lines where one is too long, and nothing is cut.
 */
#include "lib/core/term.h"
#include "lib/report/report.h"

struct grid {
	const struct series *se; /* NULL: none is open */
	const char **head;
	size_t *width; /* 0: the column is not shown */
	bool *below;   /* it begins another line of its row, */
	size_t indent; /* which begins so far in */
	LIST(const char **) rows;
};

/* @s as it may be shown: itself, or a harmless copy. */
const char *grid_shown(struct arena *a, const char *s);
/* Line ends where @text has blanks: @first columns in the first line, @room in the others. Where
 * @first is less, something stands in that line already. */
const char *grid_wrapped(struct arena *a, const char *text, size_t first, size_t room);
void grid_begin(struct sink *s, const struct term *t, struct grid *g, const struct series *se);
void grid_add(struct sink *s, struct grid *g, const struct cell *cells);
void grid_end(struct sink *s, const struct term *t, struct grid *g);

#endif
