#ifndef LIB_CORE_TERM_H
#define LIB_CORE_TERM_H
/*
 * What a stream can show: colour (not with NO_COLOR, TERM=dumb, or into a
 * pipe), width, and whether a person is watching; and how much room a text
 * takes there. The locale is never loaded: it costs more than a whole run.
 */
#include "lib/core/base.h"

enum style { STYLE_NONE, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_GREEN, STYLE_YELLOW, STYLE_BLUE };

struct term {
	bool is_tty;
	bool color;
	unsigned width; /* columns; 80 when unknown; COLUMNS is honoured */
};

void term_probe(struct term *t, int fd);
/* Columns that the terminal has by now; 0: it does not say. */
unsigned term_room(int fd);
/* The escape sequences, or "" where colour is off. */
const char *term_on(const struct term *t, enum style s);
const char *term_off(const struct term *t);
/* Is what both streams take read in one place: a terminal, or the file or pipe of `2>&1`? */
bool term_is_shared(int a, int b);
/* Does the user's locale (LC_ALL, LC_CTYPE, LANG) show UTF-8? */
bool term_utf8(void);
/*
 * Makes foreign text harmless, in place (it never grows): line ends and tabs
 * become blanks, other control characters, broken UTF-8 and marks that turn
 * the writing direction become '?', and without UTF-8 whatever is not ASCII.
 */
void term_clean(char *s);
/* The same, whatever the locale: of what is kept, and shown by somebody who cleans it. */
void term_tame(char *s);
/* Takes out colours, and grep's "to the end of the line", in place; how much of @n is left. */
size_t term_uncolour(char *s, size_t n);
/* False: a control character, broken UTF-8, or a mark that shows nothing, or other text than there
 * is. */
bool term_prints(uint32_t c);
/* Columns that a UTF-8 text takes; control characters count as one (they are shown as '?'). */
size_t term_columns(const char *s);
/* Bytes of @s that fit in @columns without cutting a character. */
size_t term_fit(const char *s, size_t columns);

#endif
