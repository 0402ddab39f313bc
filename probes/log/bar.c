#include "probes/log/bar.h"

#include <ctype.h>

enum { STATE_MAX = 400 /* bytes of a bar after its percentage */ };

/* "29:55" or "1:02:03", up to a "<". */
static const char *elapsed(const char *p, const char *end, long *ret_s)
{
	long part = 0, digits = 0;

	*ret_s = 0;
	for (; p < end && (isdigit((unsigned char)*p) || *p == ':'); p++) {
		if (*p == ':') {
			*ret_s = (*ret_s + part) * 60;
			part = 0;
		} else if (++digits <= 8) {
			part = part * 10 + (*p - '0');
		}
	}
	*ret_s += part;
	return digits && p < end && *p == '<' ? p : NULL;
}

/* What stands before "%|": the percentage, and before it the description. */
static bool head(const char *text, const char *mark, struct bar *b)
{
	const char *p = mark;

	while (p > text && mark - p < 3 && isdigit((unsigned char)p[-1]))
		p--;
	if (p == mark)
		return false;
	b->percent = 0;
	for (const char *d = p; d < mark; d++)
		b->percent = b->percent * 10 + (*d - '0');
	while (p > text && (p[-1] == ' ' || p[-1] == ':'))
		p--;
	b->what = p;
	while (b->what > text && b->what[-1] != '\r' && b->what[-1] != '\n')
		b->what--;
	b->what_n = (size_t)(p - b->what);
	return true;
}

bool bar_last(const char *text, size_t n, struct bar *ret)
{
	const char *end = text + n, *mark = end, *p;

	do
		mark = memrchr(text, '%', (size_t)(mark - text));
	while (mark && (mark + 1 == end || mark[1] != '|'));
	if (!mark || !head(text, mark, ret))
		return false;
	if (end - mark > STATE_MAX)
		end = mark + STATE_MAX;
	p = memchr(mark, '[', (size_t)(end - mark));
	p = p ? elapsed(p + 1, end, &ret->elapsed_s) : NULL;
	p = p ? memchr(p, ']', (size_t)(end - p)) : NULL;
	if (!p)
		return false;
	ret->end = p + 1;
	return true;
}

bool bar_of_file(const char *text, char *ret, size_t size)
{
	struct bar b;
	size_t n = 0;

	if (!bar_last(text, strlen(text), &b) || b.percent != 100)
		return false;
	while (n < b.what_n && !strchr(" /", b.what[b.what_n - 1 - n]))
		n++;
	if (!n || n >= size || !memchr(b.what + b.what_n - n, '.', n))
		return false;
	(void)snprintf(ret, size, "%.*s", (int)n, b.what + b.what_n - n);
	return true;
}

static bool has_word(const struct bar *b, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= b->what_n; i++)
		if (strncasecmp(b->what + i, word, n) == 0)
			return true;
	return false;
}

/* "[30:01<57:14, 37.3MB/s]" */
static bool counts_bytes(const struct bar *b) { return starts_with(b->end - 4, "B/s]"); }

bool bar_is_preparation(const struct bar *b)
{
	static const char *const words[] = {
		"tokeniz", "prepar",	 "process",  "map (",	 "map:",       "filter",  "packing",
		"group",   "generating", "caching",  "indexing", "building",   "convert", "loading",
		"extract", "download",	 "encoding", "casting",	 "flattening", "saving",  NULL};

	if ((b->what_n == 3 && strncasecmp(b->what, "map", 3) == 0) || counts_bytes(b))
		return true;
	for (size_t i = 0; words[i]; i++)
		if (has_word(b, words[i]))
			return !has_word(b, "epoch") && !has_word(b, "step");
	return false;
}
