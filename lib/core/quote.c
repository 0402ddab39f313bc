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

/* Which of them the next word says; NULL: none. */
static const struct shell_set *set_by(const char *const *argv, const struct shell_set *sets)
{
	for (; sets->option; sets++)
		if (sets->value && words_of(argv, sets->option))
			return sets;
	return NULL;
}

static void add_set(struct text *line, const struct shell_set *set)
{
	text_addf(line, " %s %s", set->option, shell_quote(line->a, set->value));
}

const char *shell_again(struct arena *a, const char *const *argv, const struct shell_set *sets)
{
	const struct shell_set *set;
	struct text line;
	uint64_t done = 0;

	text_init(&line, a);
	text_add(&line, shell_quote(a, *argv++));
	while (*argv) {
		set = set_by(argv, sets);
		if (set && !(done >> (set - sets) & 1))
			add_set(&line, set);
		else if (!set && !streq(*argv, "--json"))
			text_addf(&line, " %s", shell_quote_line(a, *argv));
		done |= set ? UINT64_C(1) << (set - sets) : 0;
		argv += set ? words_of(argv, set->option) : 1;
	}
	for (set = sets; set->option; set++)
		if (set->value && !(done >> (set - sets) & 1))
			add_set(&line, set);
	return line.s;
}
