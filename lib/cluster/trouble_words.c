#include "lib/cluster/trouble_words.h"

#include "lib/core/term.h"

#include <ctype.h>

/* As log_hint() writes it: a command, or words. */
static bool is_advice(const char *line)
{
	return starts_with(line, "  -> ") || starts_with(line, "   - ");
}

/* The last line of @s that says something, printable. */
const char *trouble_last_line(struct arena *a, const char *s)
{
	size_t n = strlen(s), from;
	char *line;

	do {
		while (n && isspace((unsigned char)s[n - 1]))
			n--;
		for (from = n; from && s[from - 1] != '\n' && s[from - 1] != '\r'; from--)
			;
	} while (is_advice(s + from) && (n = from)); /* to what stands above it */
	line = arena_strndup(a, s + from, n - from);
	line[term_uncolour(line, n - from)] = '\0';
	for (char *c = line; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	return line;
}

const char *trouble_first_line(struct arena *a, const char *s)
{
	s += strspn(s, " \t\r\n");
	return trouble_last_line(a, arena_strndup(a, s, strcspn(s, "\r\n")));
}

struct trouble trouble_why(const char *said, const char *fix)
{
	return (struct trouble){.said = said, .fix = fix};
}

/* The word before @mark in what the loader of programs has said. */
const char *trouble_word_before(const char *said, const char *mark, struct arena *a)
{
	const char *end = strstr(said, mark), *from = end;

	while (from && from > said && !isspace((unsigned char)from[-1]))
		from--;
	return from && from < end
		       ? trouble_last_line(a, arena_strndup(a, from, (size_t)(end - from)))
		       : NULL;
}
