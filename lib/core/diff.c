/*
 * What we change is one place in a text, so the lines that both ends share are
 * set aside and the rest is one hunk: always right for patch(1), and as short
 * as diff(1)'s where one place changed.
 */
#include "lib/core/diff.h"

#include "lib/core/text.h"

enum { CONTEXT = 3 };

/* Lines with their newlines, where there is one. */
typedef LIST(struct span) line_list;

static line_list split(struct arena *a, struct span text)
{
	const char *s = text.s, *end = text.s + text.n;
	line_list lines = {.v = ARENA_NEW(a, struct span)}; /* no NULL to add an offset to */

	while (s < end) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		size_t len = (size_t)((nl ? nl + 1 : end) - s);

		*LIST_ADD(a, &lines) = (struct span){s, len};
		s += len;
	}
	return lines;
}

static bool same(struct span x, struct span y) { return x.n == y.n && !memcmp(x.s, y.s, x.n); }

static void add_lines(struct text *t, char sign, const struct span *l, size_t n)
{
	for (; n; n--, l++) {
		text_addn(t, &sign, 1);
		text_addn(t, l->s, l->n);
		if (l->s[l->n - 1] != '\n')
			text_add(t, "\n\\ No newline at end of file\n");
	}
}

static size_t at_most(size_t n, size_t max) { return n < max ? n : max; }

char *text_diff(struct arena *a, const char *path, struct span old, struct span new)
{
	line_list x = split(a, old), y = split(a, new);
	size_t head = 0, tail = 0, before, after, nx, ny;
	struct text t;

	text_init(&t, a);
	while (head < x.n && head < y.n && same(x.v[head], y.v[head]))
		head++;
	if (head == x.n && head == y.n)
		return t.s;
	while (tail < x.n - head && tail < y.n - head &&
	       same(x.v[x.n - 1 - tail], y.v[y.n - 1 - tail]))
		tail++;
	before = at_most(head, CONTEXT);
	after = at_most(tail, CONTEXT);
	nx = x.n - head - tail;
	ny = y.n - head - tail;
	head -= before;
	text_addf(&t, "--- %s\n+++ %s\n@@ -%zu,%zu +%zu,%zu @@\n", path, path,
		  head + (before + nx + after > 0), before + nx + after,
		  head + (before + ny + after > 0), before + ny + after);
	add_lines(&t, ' ', x.v + head, before);
	add_lines(&t, '-', x.v + head + before, nx);
	add_lines(&t, '+', y.v + head + before, ny);
	add_lines(&t, ' ', x.v + head + before + nx, after);
	return t.s;
}
