/* Names beside a picture that has little room for them: what all have alike goes first. */
#include "probes/html/parts.h"

enum { ROOM = 16, FIRST = 5 }; /* letters; of a name that is too long for itself, so many of them */
static const char between[] = ".-_", dots[] = "\u2026";

struct cut {
	size_t head, tail; /* bytes that all begin, and end, with */
};

static size_t longest(const char *const *names, size_t n)
{
	size_t most = 0;

	for (size_t i = 0; i < n; i++)
		most = strlen(names[i]) > most ? strlen(names[i]) : most;
	return most;
}

/* With so many bytes two names begin (@end: end) alike, whole parts of them and never all of one.
 */
static size_t alike(const char *x, const char *y, bool end)
{
	size_t nx = strlen(x), ny = strlen(y), whole = 0;

	for (size_t i = 0; i + 1 < nx && i + 1 < ny; i++) {
		char a = end ? x[nx - 1 - i] : x[i], b = end ? y[ny - 1 - i] : y[i];

		if (a != b)
			break;
		if (strchr(between, a))
			whole = i + 1;
	}
	return whole;
}

static struct cut cut_of(const char *const *names, size_t n)
{
	size_t least = strlen(names[0]);
	struct cut c = {least, least}; /* where all are one machine nothing goes */

	for (size_t i = 1; i < n; i++) {
		size_t head = alike(names[0], names[i], false),
		       tail = alike(names[0], names[i], true);

		if (streq(names[0], names[i]))
			continue;
		c.head = head < c.head ? head : c.head;
		c.tail = tail < c.tail ? tail : c.tail;
		least = strlen(names[i]) < least ? strlen(names[i]) : least;
	}
	/* the domain says least; a name may be nothing but what others begin and end with */
	c.tail = c.tail < least ? c.tail : 0;
	if (c.head + c.tail >= least || longest(names, n) - c.tail < ROOM)
		c.head = 0;
	return c;
}

static bool within_letter(char c) { return (c & 0xc0) == 0x80; }

/* Beginning and end: hosts differ there. */
static const char *both_ends(const char *name, struct arena *a)
{
	size_t n = strlen(name), first = FIRST, last = n - (ROOM - FIRST - 1);

	if (n <= ROOM)
		return name;
	while (first && within_letter(name[first]))
		first--;
	while (within_letter(name[last]))
		last++;
	return arena_printf(a, "%.*s%s%s", (int)first, name, dots, name + last);
}

const char *const *html_short_names(const char *const *names, size_t n, struct arena *a)
{
	const char **ret = arena_alloc(a, (n + 1) * sizeof(*ret));
	struct cut c = {0};

	if (n > 1 && longest(names, n) > ROOM)
		c = cut_of(names, n);
	for (size_t i = 0; i < n; i++) {
		const char *own =
			arena_strndup(a, names[i] + c.head, strlen(names[i]) - c.head - c.tail);

		ret[i] = arena_printf(a, "%s%s%s", c.head ? dots : "", both_ends(own, a),
				      c.tail ? dots : "");
	}
	return ret;
}
