#ifndef PROBES_LOG_SCAN_H
#define PROBES_LOG_SCAN_H
/*
 * Finds a thousand literals in a gigabyte in half a second or so. Of each, six
 * bytes in a row are chosen that are rare in logs: two grams of five. So only
 * every second place of a text is looked at, and a table of what its gram hashes
 * to tells nearly always that no literal is there. Case counts; NUL and any other
 * byte is text.
 */
#include "lib/core/arena.h"

struct scan;

/* A literal of at least SCAN_MIN bytes, and what to call it. It is not copied. */
enum { SCAN_MIN = 6, SCAN_MAX = 32766 /* literals */ };
struct literal {
	const char *s;
	uint32_t n;
	unsigned tag;
};

/* All of it lives in @a. A literal that is too short, or one too many, is never found:
 * scan_count() says how many are looked for. @is_left_out: as of scan_leave_out(). */
struct scan *scan_new(struct arena *a, const struct literal *v, size_t n, const bool *is_left_out);

size_t scan_count(const struct scan *s);

/* From now on the literals of those tags are not found (NULL: none), and all others are. In the
 * middle of a text after scan_next() said that there are no more. */
void scan_leave_out(struct scan *s, const bool *is_left_out);

enum { SCAN_AHEAD = 1024 /* places that are looked at together */ };

/* A text that is gone through. */
struct scan_walk {
	const struct scan *scan;
	const char *text;
	size_t n;
	/* private: of the places from @from to @at, those that may be something */
	size_t from, at;
	uint16_t places[SCAN_AHEAD];
	unsigned first, nplaces;
	uint16_t key; /* to try next at the first of them */
	unsigned version;
	size_t until;
};

struct scan_hit {
	size_t at; /* where it begins */
	unsigned tag;
};

void scan_begin(struct scan_walk *w, const struct scan *s, const char *text, size_t n);
/*
 * The next literal of those that end before @until; of others it may be one, too.
 * False when there are no more; then go on with a larger @until. Each is found
 * once. Those that overlap are found in any order.
 */
bool scan_next(struct scan_walk *w, size_t until, struct scan_hit *ret);

#endif
