#include "probes/rules/nccl_lint.h"

#include <ctype.h>

#define BYTE_ORDER_MARK "\xEF\xBB\xBF" /* what some editors put before the first line */

static const char *without_blanks(struct arena *a, const char *s)
{
	size_t n;

	s += strspn(s, " \t");
	for (n = strlen(s); n && isspace((unsigned char)s[n - 1]); n--)
		;
	return arena_strndup(a, s, n);
}

static void add(const struct lint *l, const char *check, const struct setting *s, enum status st,
		const char *what, const char *name, const char *value)
{
	struct finding *f = lint_find(l, check, s);

	finding_set(f, st, "%s=%s: %s", s->name, s->value, what);
	if (name) {
		finding_expect(f, "%s=%s", name, value);
		lint_fix(f, s, name, value);
	}
	report_add(l->r, f);
}

/* The name as it was meant: no blanks, no "export" of a shell, no byte order mark. */
static bool name_is_odd(const struct lint *l, const struct setting *s, const char **ret_name)
{
	const char *name = without_blanks(report_arena(l->r), s->name);

	if (starts_with(name, BYTE_ORDER_MARK))
		name += strlen(BYTE_ORDER_MARK);
	if (starts_with(name, "export "))
		name = without_blanks(report_arena(l->r), name + strlen("export "));
	*ret_name = name;
	return !streq(name, s->name) && starts_with(name, "NCCL_");
}

static const char *unquoted(struct arena *a, const char *value)
{
	size_t n = strlen(value);

	if (n > 1 && (*value == '"' || *value == '\'') && value[n - 1] == *value)
		return arena_strndup(a, value + 1, n - 2);
	return value;
}

static const char *without_comment(struct arena *a, const char *value)
{
	const char *at = strstr(value, " #");

	return at ? without_blanks(a, arena_strndup(a, value, (size_t)(at - value))) : value;
}

static void lint_line(const struct lint *l, const struct setting *s)
{
	struct arena *a = report_arena(l->r);
	size_t n = strlen(s->value);
	const char *name, *bare = without_blanks(a, without_comment(a, s->value));

	if (name_is_odd(l, s, &name))
		add(l, "lint.conf.name", s, ST_FAIL,
		    starts_with(s->name, BYTE_ORDER_MARK)
			    ? "a byte order mark stands before it, so NCCL never looks at it"
			    : "blanks and \"export\" are part of the name in "
			      "this file, so NCCL never looks at it",
		    name, unquoted(a, bare));
	if (!starts_with(name, "NCCL_"))
		return;
	if (n && s->value[n - 1] == '\r')
		add(l, "lint.conf.crlf", s, ST_FAIL,
		    "the line ends in a carriage return, which NCCL "
		    "before 2.30.3 takes as part of the value",
		    name, unquoted(a, bare));
	else if (strstr(s->value, " #"))
		add(l, "lint.conf.comment", s, ST_FAIL,
		    "# begins a comment only at the start of a "
		    "line; here it is part of the value",
		    name, unquoted(a, bare));
	else if (!streq(unquoted(a, bare), bare))
		add(l, "lint.conf.quote", s, ST_FAIL, "quotes are part of the value in this file",
		    name, unquoted(a, bare));
	else if (!streq(bare, s->value))
		add(l, "lint.conf.blank", s, ST_FAIL, "blanks are part of the value in this file",
		    name, bare);
}

static void lint_shadowed(const struct lint *l, const struct setting *s)
{
	const struct setting *wins = settings_nccl(l->in->settings, s->name);

	if (wins && !streq(wins->origin, s->origin) && !streq(wins->value, s->value))
		add(l, "lint.conf.shadowed", s, ST_INFO,
		    arena_printf(report_arena(l->r), "has no effect; %s says %s first",
				 wins->origin, wins->value),
		    NULL, NULL);
}

static void lint_junk(const struct lint *l, const struct setting *s)
{
	struct finding *f = lint_find(l, "lint.conf.line", s);

	finding_set(f, ST_WARN, "is no NAME=VALUE: NCCL passes over it without a word");
	finding_expect(f, "NAME=VALUE, or # at the start of a comment");
	lint_unset(f, s);
	report_add(l->r, f);
}

static void lint_unread(const struct lint *l, const struct conf_trouble *t)
{
	struct finding *f = report_find(l->r, "lint.conf.unreadable", "nccl.conf");
	static const char *const nccl[] = {
		[CONF_PASSED_OVER] = "; NCCL goes on without it and says nothing",
		[CONF_UNSEEN] = "",
		[CONF_NO_TEXT] = "",
		[CONF_WAITS] = ": NCCL waits for ever for somebody to write there",
	};

	finding_set(f, t->nccl == CONF_WAITS ? ST_FAIL : ST_WARN, "%s %s%s", t->path, t->why,
		    nccl[t->nccl]);
	finding_expect(f, "%s",
		       t->nccl == CONF_NO_TEXT ? "plain text, a NAME=VALUE on each line"
					       : "a file that this user can read");
	if (t->is_named)
		finding_fix(f, "unset NCCL_CONF_FILE");
	report_add(l->r, f);
}

void lint_conf(const struct lint *l)
{
	const struct settings *s = l->in->settings;

	for (size_t i = 0; i < s->conf_junk.n; i++)
		lint_junk(l, &s->conf_junk.v[i]);
	for (size_t i = 0; i < s->conf_lines.n; i++) {
		lint_line(l, &s->conf_lines.v[i]);
		lint_shadowed(l, &s->conf_lines.v[i]);
	}
	for (size_t i = 0; i < s->unreadable.n; i++)
		lint_unread(l, &s->unreadable.v[i]);
}
