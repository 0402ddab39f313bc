#ifndef LIB_CORE_TERM_H
#define LIB_CORE_TERM_H
/*
 * What a stream can show: colour (not with NO_COLOR, TERM=dumb, or into a
 * pipe), width, and whether a person is watching.
 */
#include "lib/core/base.h"

enum style { STYLE_NONE, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_GREEN, STYLE_YELLOW, STYLE_BLUE };

struct term {
	bool is_tty;
	bool color;
	unsigned width; /* columns; 80 when unknown; COLUMNS is honoured */
};

void term_probe(struct term *t, int fd);
/* The escape sequences, or "" where colour is off. */
const char *term_on(const struct term *t, enum style s);
const char *term_off(const struct term *t);
/* Columns that a UTF-8 text takes; control characters count as one (they are shown as '?'). */
size_t term_columns(const char *s);
/* Bytes of @s that fit in @columns without cutting a character. */
size_t term_fit(const char *s, size_t columns);

#endif
