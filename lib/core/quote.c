#include "lib/core/quote.h"

#include "lib/core/text.h"

#include <ctype.h>

char *shell_quote(struct arena *a, const char *s)
{
	bool plain = *s;
	struct text t;

	for (const char *p = s; *p && plain; p++)
		plain = isalnum((unsigned char)*p) || strchr("_@%+:,./-", *p);
	if (plain)
		return arena_strdup(a, s);
	text_init(&t, a);
	text_add(&t, "'");
	for (; *s; s++) {
		if (*s == '\'')
			text_add(&t, "'\\''");
		else
			text_addn(&t, s, 1);
	}
	text_add(&t, "'");
	return t.s;
}

const char *shell_quote_path(struct arena *a, const char *path)
{
	return starts_with(path, "~/") ? arena_printf(a, "~/%s", shell_quote(a, path + 2))
				       : shell_quote(a, path);
}

const char *shell_quote_words(struct arena *a, const char *const *argv)
{
	struct text t;

	text_init(&t, a);
	for (size_t i = 0; argv[i]; i++)
		text_addf(&t, "%s%s", i ? " " : "", shell_quote(a, argv[i]));
	return t.s;
}

static void add_escaped(struct text *t, char c)
{
	switch (c) {
	case '\n':
		text_add(t, "\\n");
		break;
	case '\t':
		text_add(t, "\\t");
		break;
	case '\'':
	case '\\':
		text_addf(t, "\\%c", c);
		break;
	default:
		if (iscntrl((unsigned char)c))
			text_addf(t, "\\%03o", (unsigned char)c);
		else
			text_addn(t, &c, 1);
	}
}

char *shell_quote_line(struct arena *a, const char *s)
{
	const char *p = s;
	struct text t;

	while (*p && !iscntrl((unsigned char)*p))
		p++;
	if (!*p)
		return shell_quote(a, s);
	text_init(&t, a);
	text_add(&t, "$'");
	for (; *s; s++)
		add_escaped(&t, *s);
	text_add(&t, "'");
	return t.s;
}

/* How many words say that option: "--lr 1" two, "--lr=1" one, else none. */
static int words_of(const char *const *argv, const char *option)
{
	size_t n = strlen(option);

	if (streq(*argv, option))
		return argv[1] ? 2 : 1;
	return starts_with(*argv, option) && (*argv)[n] == '=' ? 1 : 0;
}

const char *shell_again(struct arena *a, const char *const *argv, const char *option,
			const char *value)
{
	const char *set = arena_printf(a, " %s %s", option, shell_quote(a, value));
	bool is_set = false;
	struct text line;
	int n;

	text_init(&line, a);
	text_add(&line, shell_quote(a, *argv++));
	while (*argv) {
		n = words_of(argv, option);
		if (n && !is_set)
			text_add(&line, set);
		else if (!n && !streq(*argv, "--json"))
			text_addf(&line, " %s", shell_quote_line(a, *argv));
		is_set |= n > 0;
		argv += n ? n : 1;
	}
	text_add(&line, is_set ? "" : set);
	return line.s;
}
