/* The man page (roff, man(7) macros) and the tables in docs/. */
#include "lib/core/opt_table.h"

#include "lib/core/version.h"

/* Text in which nothing is a roff request or escape. */
static void roff(struct text *out, const char *s)
{
	if (*s == '.' || *s == '\'')
		text_add(out, "\\&");
	for (; *s; s++) {
		if (*s == '\\')
			text_add(out, "\\e");
		else if (*s == '-')
			text_add(out, "\\-");
		else if (*s == '~' || *s == '^')
			text_addf(out, "\\(%s", *s == '~' ? "ti" : "ha");
		else if (s[0] == '\n' && (s[1] == '.' || s[1] == '\''))
			text_add(out, "\n\\&");
		else
			text_addn(out, s, 1);
	}
}

static void roff_line(struct text *out, const char *before, const char *s)
{
	text_add(out, before);
	roff(out, s);
	text_add(out, "\n");
}

static void verbatim(struct text *out, const char *s)
{
	text_add(out, ".nf\n");
	roff_line(out, "", s);
	text_add(out, ".fi\n");
}

static void synopsis(struct text *out, const struct command *cmd)
{
	const char *line = cmd->synopsis;

	for (size_t n; *line; line += n + (line[n] == '\n')) {
		n = strcspn(line, "\n");
		text_addf(out, "%s.B %s\n", line == cmd->synopsis ? "" : ".br\n", cmd->name);
		if (n)
			roff_line(out, "", arena_strndup(out->a, line, n));
	}
}

static void description(struct text *out, const struct command *cmd)
{
	str_list paragraphs;

	opt_paragraphs(cmd->about ? cmd->about : cmd->summary, out->a, &paragraphs);
	for (size_t i = 0; i < paragraphs.n; i++) {
		text_add(out, i ? ".PP\n" : "");
		if (*paragraphs.v[i] == ' ')
			verbatim(out, paragraphs.v[i]);
		else
			roff_line(out, "", paragraphs.v[i]);
	}
}

static void options(struct text *out, const opt_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct opt_row *r = &rows->v[i];

		if (r->o->hidden)
			continue;
		if (r->title)
			roff_line(out, ".SS ", r->title);
		roff_line(out, ".TP\n.B ", opt_spec(r, out->a));
		roff_line(out, "", opt_sentence(r->o, out->a));
	}
}

/* @title: NULL where one stands above. */
static void pairs(struct text *out, const char *title, const opt_pairs *list, bool remark_first)
{
	if (title && list->n)
		roff_line(out, ".SH ", title);
	for (size_t i = 0; i < list->n; i++) {
		const char *right = list->v[i].right ? list->v[i].right : "";

		if (remark_first) {
			text_add(out, i ? ".PP\n" : "");
			if (*right)
				roff_line(out, "", right);
			text_add(out, ".RS 4\n");
			verbatim(out, list->v[i].left);
			text_add(out, ".RE\n");
		} else {
			roff_line(out, ".TP\n.B ", list->v[i].left);
			roff_line(out, "", right);
		}
	}
}

static void environment(struct text *out, const struct command *cmd, const opt_rows *rows)
{
	opt_pairs list;

	for (size_t i = 0; i < rows->n; i++) {
		const struct opt *o = rows->v[i].o;

		if (!o->env || o->hidden)
			continue;
		roff_line(out, ".TP\n.B ", o->env);
		roff_line(out, "", arena_printf(out->a, "Used where --%s is not given.", o->name));
	}
	opt_environment(cmd, out->a, &list);
	pairs(out, NULL, &list, false);
	text_add(out, ".TP\n.B NO_COLOR\nWhere it is set, nothing is coloured.\n");
}

void opt_man(const struct opt_usage *u, struct text *out)
{
	const struct command *cmd = u->cmd;
	opt_rows rows;
	opt_pairs list;

	opt_flatten(u, NULL, out->a, &rows);
	text_add(out, ".TH ");
	for (const char *c = cmd->name; *c; c++)
		text_addf(out, "%c", *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
	text_addf(out, " 1 %s \"windsock %s\" \"windsock\"\n", WINDSOCK_DATE, WINDSOCK_VERSION);
	text_addf(out, ".SH NAME\n%s \\- ", cmd->name);
	roff_line(out, "", cmd->summary);
	text_add(out, ".SH SYNOPSIS\n");
	synopsis(out, cmd);
	text_add(out, ".SH DESCRIPTION\n");
	description(out, cmd);
	text_add(out, ".SH OPTIONS\n");
	options(out, &rows);
	opt_examples(cmd, out->a, &list);
	pairs(out, "EXAMPLES", &list, true);
	text_add(out, ".SH ENVIRONMENT\n");
	environment(out, cmd, &rows);
	opt_exits(cmd, out->a, &list);
	pairs(out, "EXIT STATUS", &list, false);
}

/* In a table cell a bar ends the cell, and <X> would be HTML. */
static void cell(struct text *out, const char *s)
{
	for (; *s; s++) {
		if (strchr("|<>*_\\", *s))
			text_add(out, "\\");
		text_addn(out, s, 1);
	}
}

void opt_markdown(const struct opt_usage *u, struct text *out)
{
	opt_rows rows;

	opt_flatten(u, NULL, out->a, &rows);
	text_addf(out, "`%s`: %s\n", u->cmd->name, u->cmd->summary);
	for (size_t i = 0; i < rows.n; i++) {
		const struct opt_row *r = &rows.v[i];

		if (r->o->hidden)
			continue;
		if (r->title)
			text_addf(out, "\n| %s | |\n|---|---|\n", r->title);
		/* Inside a code span only the bar needs its backslash. */
		text_add(out, "| `");
		for (const char *c = opt_spec(r, out->a); *c; c++)
			text_addf(out, *c == '|' ? "\\%c" : "%c", *c);
		text_add(out, "` | ");
		cell(out, opt_sentence(r->o, out->a));
		text_add(out, " |\n");
	}
}
