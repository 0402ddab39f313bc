#include "lib/core/opt_table.h"

/* The widest option that still has its sentence on the same line. */
enum { SPEC_COLUMNS = 26, NARROW = 60 };

struct page {
	struct text *out;
	struct arena *a;
	size_t width;
};

static void spaces(struct text *out, size_t n) { text_addf(out, "%*s", (int)n, ""); }

/* Adds @s word by word, @at being the present column; further lines begin at @indent. */
static void wrap(const struct page *p, const char *s, size_t at, size_t indent)
{
	bool first = true;

	while (*(s += strspn(s, " \n"))) {
		size_t n = strcspn(s, " \n");

		if (!first && at + 1 + n > p->width) {
			text_add(p->out, "\n");
			spaces(p->out, indent);
			at = indent;
		} else if (!first) {
			text_add(p->out, " ");
			at++;
		}
		text_addn(p->out, s, n);
		at += n;
		s += n;
		first = false;
	}
	text_add(p->out, "\n");
}

/* @left, then @right in its column; on a line of its own where @left leaves no room. */
static void two_columns(const struct page *p, const char *left, const char *right, size_t column)
{
	size_t n = 2 + strlen(left);

	text_addf(p->out, "  %s", left);
	if (n + 2 > column || p->width < NARROW) {
		text_add(p->out, "\n");
		n = 0;
	}
	column = p->width < NARROW ? 6 : column;
	spaces(p->out, column - n);
	wrap(p, right, column, column);
}

static void usage(const struct page *p, const struct command *cmd)
{
	const char *line = cmd->synopsis;
	size_t indent = strlen("Usage: ") + strlen(cmd->name) + 1;

	for (size_t n; *line; line += n + (line[n] == '\n')) {
		n = strcspn(line, "\n");
		text_addf(p->out, "%s%s ", line == cmd->synopsis ? "Usage: " : "       ",
			  cmd->name);
		wrap(p, arena_strndup(p->a, line, n), indent, indent);
	}
}

/* The first line to type stands on the first screen; the other examples on the last. */
static void begin(const struct page *p, const struct command *cmd)
{
	opt_pairs list;

	opt_examples(cmd, p->a, &list);
	if (!list.n || !list.v[0].right)
		return;
	text_addf(p->out, "Begin: %s  ", list.v[0].left);
	wrap(p, arena_printf(p->a, "# %s (more at the end)", list.v[0].right),
	     strlen("Begin:   ") + strlen(list.v[0].left), strlen("Begin: "));
}

static void about(const struct page *p, const struct command *cmd)
{
	str_list paragraphs;

	opt_paragraphs(cmd->about, p->a, &paragraphs);
	for (size_t i = 0; i < paragraphs.n; i++) {
		const char *s = paragraphs.v[i];

		text_add(p->out, "\n");
		if (*s == ' ')
			text_addf(p->out, "%s\n", s);
		else
			wrap(p, s, 0, 0);
	}
}

static void options(const struct page *p, const opt_rows *rows)
{
	size_t column = 0;

	for (size_t i = 0; i < rows->n; i++) {
		size_t n = strlen(opt_spec(&rows->v[i], p->a));

		if (!rows->v[i].o->hidden && n <= SPEC_COLUMNS && n > column)
			column = n;
	}
	for (size_t i = 0; i < rows->n; i++) {
		const struct opt_row *r = &rows->v[i];

		if (r->title)
			text_addf(p->out, "\n%s:\n", r->title);
		if (!r->o->hidden)
			two_columns(p, opt_spec(r, p->a), opt_sentence(r->o, p->a), column + 4);
	}
}

/* Beside each other, or each remark above its command where one line would not hold both. */
static void examples(const struct page *p, const struct command *cmd)
{
	opt_pairs list;
	size_t left = 0, right = 0;

	opt_examples(cmd, p->a, &list);
	for (size_t i = 0; i < list.n; i++) {
		const struct opt_pair *x = &list.v[i];

		if (!x->right) /* has its line alone, however long */
			continue;
		left = strlen(x->left) > left ? strlen(x->left) : left;
		right = strlen(x->right) > right ? strlen(x->right) : right;
	}
	text_add(p->out, list.n ? "\nExamples:\n" : "");
	for (size_t i = 0; i < list.n; i++) {
		const struct opt_pair *x = &list.v[i];

		if (!x->right)
			text_addf(p->out, "  %s\n", x->left);
		else if (2 + left + 4 + right <= p->width)
			text_addf(p->out, "  %-*s  # %s\n", (int)left, x->left, x->right);
		else {
			text_add(p->out, "  # ");
			wrap(p, x->right, 4, 4);
			text_addf(p->out, "  %s\n", x->left);
		}
	}
}

static void exits(const struct page *p, const struct command *cmd)
{
	opt_pairs list;

	opt_exits(cmd, p->a, &list);
	text_add(p->out, "\nExit codes:\n");
	for (size_t i = 0; i < list.n; i++) {
		text_addf(p->out, "  %s  ", list.v[i].left);
		wrap(p, list.v[i].right ? list.v[i].right : "", 5, 5);
	}
}

void opt_help(const struct opt_usage *u, unsigned width, struct text *out)
{
	const struct command *cmd = u->cmd;
	struct page p = {out, out->a, width};
	opt_rows rows;

	opt_flatten(u, NULL, p.a, &rows);
	text_addf(out, "%s - ", cmd->name);
	wrap(&p, cmd->summary, strlen(cmd->name) + 3, strlen(cmd->name) + 3);
	text_add(out, "\n");
	usage(&p, cmd);
	begin(&p, cmd);
	about(&p, cmd);
	options(&p, &rows);
	examples(&p, cmd);
	exits(&p, cmd);
}
