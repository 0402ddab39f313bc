#include "probes/log/unfold.h"

#include "lib/core/span.h"

static const char *behind(const char *p, const char *end)
{
	const char *nl = memchr(p, '\n', (size_t)(end - p));

	return nl ? nl + 1 : end;
}

static size_t indent_of(const char *p, const char *end)
{
	size_t n = 0;

	while (p + n < end && p[n] == ' ')
		n++;
	return n;
}

/* "  message: 'Failed to ..."; -1: another line, else its indent. */
static long message_indent(const char *p, const char *end)
{
	static const char *const keys[] = {"message: ", "note: "};
	size_t n = indent_of(p, end);

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		size_t len = strlen(keys[i]);

		if ((size_t)(end - p) > n + len && !memcmp(p + n, keys[i], len) &&
		    !strchr("|>\n", p[n + len]))
			return (long)n;
	}
	return -1;
}

/* Deeper than its key, and not empty. */
static bool continues(const char *p, const char *end, long indent)
{
	size_t n = indent_of(p, end);

	return p < end && (long)n > indent && p + n < end && p[n] != '\n' && p[n] != '\r';
}

bool unfold_is_due(const char *text, size_t n)
{
	enum { LOOK = 8 /* lines */ };
	const char *end = text + n, *p = text;

	for (int i = 0; i < LOOK && p < end; i++, p = behind(p, end)) {
		size_t key = indent_of(p, end);

		if (p + key + 1 < end && !memcmp(p + key, "- ", 2))
			key += 2;
		if ((size_t)(end - p) > key + 12 && !memcmp(p + key, "apiVersion: ", 12))
			return true;
	}
	return false;
}

size_t unfold_whole(const char *text, size_t n)
{
	const char *end = text + n, *open = NULL;
	long indent = -1;

	for (const char *p = text; p < end; p = behind(p, end)) {
		if (open && continues(p, end, indent))
			continue;
		indent = message_indent(p, end);
		open = indent >= 0 ? p : NULL;
	}
	return open ? (size_t)(open - text) : n;
}

void unfold(char *text, size_t n)
{
	char *end = text + n, *to = text;

	for (const char *p = text; p < end;) {
		const char *q = behind(p, end);
		long indent = message_indent(p, end);
		size_t spaces = 0, ends = 0;

		do {
			bool has_end = q > p && q[-1] == '\n';
			size_t len = (size_t)(q - p) - has_end;

			memmove(to, p, len);
			to += len;
			ends += has_end;
			p = q;
			if (indent < 0 || !continues(p, end, indent))
				break;
			p += indent_of(p, end);
			*to++ = ' '; /* there is room: it was indented */
			spaces += (size_t)(p - q) - 1;
			q = behind(p, end);
		} while (true);
		memset(to, ' ', spaces);
		memset(to + spaces, '\n', ends);
		to += spaces + ends;
	}
}
