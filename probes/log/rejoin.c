#include "probes/log/rejoin.h"

#include "lib/core/span.h"
#include "probes/log/line.h"
#include "probes/log/prefix.h"
#include "probes/log/tested.h"

enum {
	NARROW = 60,
	WIDE = 132, /* columns; a line of NCCL is longer soon */
	MAIL = 72,
	TERMINAL = 80,
	SEEN = 3 /* breaks that show another width */
};

/* A line, without its end. */
static struct span line_at(const char *p, const char *end)
{
	const char *nl = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
	struct span l = {p, (size_t)((nl ? nl : end) - p)};

	l.n -= l.n && l.s[l.n - 1] == '\r';
	return l;
}

static const char *behind(const char *p, const char *end)
{
	const char *nl = memchr(p, '\n', (size_t)(end - p));

	return nl ? nl + 1 : end;
}

/* "=====": of that length by itself. */
static bool is_rule(struct span l)
{
	const char *last = l.s + l.n - 1;

	return l.n >= 3 && last[0] == last[-1] && last[0] == last[-2];
}

/* A new line by its looks: indented, a traceback, a test's verdict, or somebody begins to speak. */
static bool begins(struct span l)
{
	struct log_line probe = {.who.rank = -1, .who.local = -1};

	if (!l.n || *l.s == '\t' || starts_with(l.s, "Traceback (") ||
	    (l.n > 1 && !memcmp(l.s, "  ", 2)))
		return true;
	if (l.n >= sizeof(probe.text))
		return false;
	memcpy(probe.text, l.s, l.n);
	return tested_frames(probe.text) ||
	       prefix_skip(probe.text, &probe) > probe.text + strspn(probe.text, " ");
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* What several ranks say in the same words has one length by itself, whatever their numbers are. */
static bool is_alike(struct span l, struct span next)
{
	enum { START = 12 /* bytes */ };
	size_t n = 0;

	while (n < START && n < l.n && n < next.n &&
	       (l.s[n] == next.s[n] || (is_digit(l.s[n]) && is_digit(next.s[n]))))
		n++;
	return n == START;
}

/* Broken in the middle of a word, or before one that had no room. */
static bool is_broken(struct span l, struct span next, size_t width)
{
	const char *space = memchr(next.s, ' ', next.n);
	size_t word = space ? (size_t)(space - next.s) + 1 : next.n;
	bool is_full = l.n == width;
	bool is_spaced = l.n && l.n < width && l.s[l.n - 1] == ' ' && l.n + word > width;

	return (is_full || is_spaced) && next.n <= width && !is_rule(l) && !is_alike(l, next) &&
	       !begins(next);
}

static size_t longest(const char *text, size_t n)
{
	const char *end = text + n;
	size_t most = 0;

	for (const char *p = text; p < end; p = behind(p, end)) {
		size_t len = line_at(p, end).n;

		most = len > most ? len : most;
	}
	return most;
}

bool rejoin_is_long(const char *text, size_t n) { return longest(text, n) > WIDE; }

static size_t count(const char *text, size_t n, size_t width)
{
	const char *end = text + n;
	size_t breaks = 0;

	for (const char *p = text, *q; p < end && (q = behind(p, end)) < end; p = q)
		breaks += is_broken(line_at(p, end), line_at(q, end), width);
	return breaks;
}

size_t rejoin_width(const char *text, size_t n)
{
	size_t most = longest(text, n), width = most;

	if (most < NARROW || most > WIDE)
		return 0;
	if (most <= TERMINAL) /* the usual ones, which words that had no room may not have filled */
		width = most <= MAIL ? MAIL : TERMINAL;
	if (count(text, n, width) >= (width == MAIL || width == TERMINAL ? 1 : SEEN))
		return width;
	return count(text, n, most) >= SEEN ? most : 0;
}

size_t rejoin_whole(const char *text, size_t n, size_t width)
{
	const char *end = text + n, *safe = text;

	for (const char *p = text, *q; p < end; p = q) {
		struct span l = line_at(p, end);

		q = behind(p, end);
		if (q < end ? !is_broken(l, line_at(q, end), width)
			    : l.n != width && !(l.n && l.s[l.n - 1] == ' '))
			safe = q;
	}
	return (size_t)(safe - text);
}

size_t rejoin(char *text, size_t n, size_t width)
{
	const char *end = text + n, *q;
	char *to = text;

	for (const char *p = text; p < end && width; p = q) {
		struct span l = line_at(p, end), next;
		size_t ends = 0, spaces = 0;
		bool more;

		do {
			q = behind(l.s, end);
			next = line_at(q, end);
			if (l.n > width)
				width = 0;
			more = width && q < end && is_broken(l, next, width);
			ends += q > l.s && q[-1] == '\n';
			spaces += (size_t)(q - l.s) - l.n - (q > l.s && q[-1] == '\n');
			memmove(to, l.s, l.n);
			to += l.n;
			l = next;
		} while (more);
		memset(to, ' ', spaces);
		memset(to + spaces, '\n', ends);
		to += spaces + ends;
	}
	return width;
}
