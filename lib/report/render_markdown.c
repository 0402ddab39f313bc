/*
 * Markdown as GitHub and GitLab read it: to be pasted into an issue, a merge request or a wiki. The
 * verdict stands first and then what is wrong, so all is written at the end; what people are to
 * type is a block of its own, which has a button there.
 */
#include "lib/core/fix.h"
#include "lib/core/term.h"
#include "lib/core/utf8.h"
#include "lib/report/json.h"
#include "lib/report/report.h"
#include "lib/report/typed.h"

#include <math.h>

struct page {
	struct text tables;	   /* what came as series, headings and remarks */
	const struct series *open; /* the latest thing in it is a row of this one */
	bool fenced;		   /* or a line of text that is kept as it is */
};

/*
 * What Markdown or HTML would read as markup stands for itself. A backslash does where it can,
 * since the text is read as it is, too; for what GitHub links (@ #) or HTML has it takes an entity.
 */
static void put(struct text *t, const char *text)
{
	const char *p = utf8_mend(t->a, text);
	uint32_t c;

	for (size_t took; *p; p += took) {
		took = utf8_next(p, 4, &c);
		if (c == '\n')
			text_add(t, "<br>");
		else if (c < 0x80 && strchr("<>&@#~$", (int)c))
			text_addf(t, "&#%u;", c);
		else if (c < 0x80 && strchr("\\|`*_[]", (int)c))
			text_addf(t, "\\%c", (char)c);
		else if (c != '\r')
			text_addn(t, term_prints(c) ? p : "?", term_prints(c) ? took : 1);
	}
}

/* --- tables --------------------------------------------------------------------------------- */
#define FENCE "```\n"

static void paragraph(struct page *p)
{
	text_add(&p->tables, p->fenced ? FENCE "\n" : "\n");
	p->open = NULL;
	p->fenced = false;
}

/* A line of a block of text, harmless for a terminal. */
static void put_line(struct text *t, const char *line, size_t n)
{
	char *one = arena_strndup(t->a, line, n);

	term_clean(one);
	text_addf(t, "%s\n", utf8_mend(t->a, one));
}

static void heading(struct sink *s, const char *text)
{
	struct page *p = s->state;

	paragraph(p);
	text_add(&p->tables, "### ");
	put(&p->tables, text);
	text_add(&p->tables, "\n");
}

/* Words, or by its gaps a line of a picture. */
static void remark(struct sink *s, const char *text)
{
	struct page *p = s->state;

	if (strstr(text, "  ") && !strstr(text, "```") && !strchr(text, '\n')) {
		if (!p->fenced) {
			paragraph(p);
			text_add(&p->tables, FENCE);
		}
		p->fenced = true;
		put_line(&p->tables, text, strlen(text));
		return;
	}
	paragraph(p);
	put(&p->tables, text);
	text_add(&p->tables, "\n");
}

static void series(struct sink *s, const struct series *se)
{
	struct page *p = s->state;

	paragraph(p);
	p->open = se;
	text_add(&p->tables, "|");
	for (size_t i = 0; i < se->ncolumns; i++) {
		text_add(&p->tables, " ");
		put(&p->tables, se->columns[i].name);
		if (se->columns[i].unit) {
			text_add(&p->tables, ", ");
			put(&p->tables, se->columns[i].unit);
		}
		text_add(&p->tables, " |");
	}
	text_add(&p->tables, "\n|");
	for (size_t i = 0; i < se->ncolumns; i++)
		text_add(&p->tables,
			 se->columns[i].is_text && !se->columns[i].right ? "---|" : "--:|");
	text_add(&p->tables, "\n");
}

static void row(struct sink *s, const struct series *se, const struct cell *cells)
{
	struct page *p = s->state;

	if (p->open != se) /* something came between */
		series(s, se);
	text_add(&p->tables, "|");
	for (size_t i = 0; i < se->ncolumns; i++) {
		text_add(&p->tables, " ");
		if (se->columns[i].is_text)
			put(&p->tables, cells[i].text ?: "");
		else if (isfinite(cells[i].number))
			text_addf(&p->tables, "%.*f", se->columns[i].decimals, cells[i].number);
		text_add(&p->tables, " |");
	}
	text_add(&p->tables, "\n");
}

/* Measurements that a command writes by itself where people read them have no series: rows of the
 * envelope's data, of which what is one value is a column. */
static bool is_value(const cJSON *v)
{
	return cJSON_IsString(v) || cJSON_IsNumber(v) || cJSON_IsBool(v);
}

static void put_value(struct text *t, const cJSON *v)
{
	text_add(t, " ");
	if (cJSON_IsString(v))
		put(t, v->valuestring);
	else if (cJSON_IsNumber(v))
		text_addf(t, "%.*g", fabs(v->valuedouble) < 1e6 ? 6 : 15, v->valuedouble);
	else if (cJSON_IsBool(v))
		text_add(t, cJSON_IsTrue(v) ? "yes" : "no");
	text_add(t, " |");
}

static size_t values_of(const cJSON *row)
{
	const cJSON *v;
	size_t n = 0;

	cJSON_ArrayForEach (v, row)
		n += is_value(v);
	return n;
}

/* The row that has most: what it has are the columns. */
static const cJSON *widest(const cJSON *rows)
{
	const cJSON *row, *best = NULL;

	cJSON_ArrayForEach (row, rows)
		if (cJSON_IsObject(row) && (!best || values_of(row) > values_of(best)))
			best = row;
	return best;
}

static void put_rows(struct text *t, const cJSON *data, const char *key)
{
	const cJSON *rows = json_get(data, key), *columns = widest(rows), *column, *row;

	if (!columns)
		return;
	text_addf(t, "\n### %s\n\n|", key);
	cJSON_ArrayForEach (column, columns)
		if (is_value(column)) {
			text_add(t, " ");
			put(t, column->string);
			text_add(t, " |");
		}
	text_add(t, "\n|");
	for (size_t i = 0; i < values_of(columns); i++)
		text_add(t, "---|");
	cJSON_ArrayForEach (row, rows) {
		text_add(t, "\n|");
		cJSON_ArrayForEach (column, columns)
			if (is_value(column))
				put_value(t, json_get(row, column->string));
	}
	text_add(t, "\n");
}

/* --- findings ------------------------------------------------------------------------------- */
static const char *const icons[ST_COUNT] = {
	[ST_PASS] = ":white_check_mark:", [ST_INFO] = ":information_source:",
	[ST_WARN] = ":warning:",	  [ST_FAIL] = ":x:",
	[ST_SKIP] = ":fast_forward:",	  [ST_ERROR] = ":boom:"};

static void put_finding(struct text *t, const struct finding *f)
{
	const char *host = finding_host(f);

	text_addf(t, "| %s %s | ", icons[f->status], status_name(f->status));
	put(t, f->check);
	text_add(t, " | ");
	put(t, f->subject ?: "");
	if (host) {
		text_add(t, f->subject ? " on " : "on ");
		put(t, host);
	}
	if (f->rank >= 0)
		text_addf(t, " rank %d", f->rank);
	text_add(t, " | ");
	put(t, f->message);
	if (f->expected && !streq(f->expected, "none")) {
		text_add(t, " (expected ");
		put(t, f->expected);
		text_add(t, ")");
	}
	text_add(t, " |\n");
}

static void put_status(struct sink *s, struct text *t, enum status which)
{
	for (size_t i = 0; i < s->findings.n; i++)
		if (s->findings.v[i]->status == which)
			put_finding(t, s->findings.v[i]);
}

/* What is wrong first, the worst of it at the top; what passed only where somebody asks. */
static void put_findings(struct sink *s, struct text *t)
{
	static const enum status order[] = {ST_FAIL, ST_ERROR, ST_WARN, ST_SKIP, ST_INFO};
	static const char head[] = "\n| | check | of | what |\n|---|---|---|---|\n";
	size_t shown = s->opts->quiet ? 3 : ARRAY_LEN(order), others = 0; /* fail, error, warn */

	for (size_t k = 0; k < shown; k++)
		others += s->count[order[k]];
	text_add(t, others ? head : "");
	for (size_t k = 0; k < shown; k++)
		put_status(s, t, order[k]);
	if (!s->count[ST_PASS] || s->opts->quiet)
		return;
	text_addf(t, "\n<details><summary>%zu passed</summary>\n%s", s->count[ST_PASS], head);
	put_status(s, t, ST_PASS);
	text_add(t, "\n</details>\n");
}

static bool is_wrong(const struct finding *f)
{
	return f->status == ST_FAIL || f->status == ST_ERROR || f->status == ST_WARN;
}

static size_t longest_ticks(const char *text)
{
	size_t most = 0, n = 0;

	for (; *text; text++) {
		n = *text == '`' ? n + 1 : 0;
		most = n > most ? n : most;
	}
	return most;
}

static const char *whose(struct arena *a, const struct finding *f)
{
	const char *host = finding_host(f);

	return arena_printf(a, "%s%s%s%s%s", f->check, f->subject ? " " : "", f->subject ?: "",
			    host ? " on " : "", host ?: "");
}

/* What is wrong has its advice first; of a remark it is left out where the remark is. */
static bool has_advice(const struct sink *s, size_t i, bool wrong)
{
	return is_wrong(s->findings.v[i]) == wrong &&
	       (wrong || (!s->opts->quiet && s->findings.v[i]->status != ST_PASS));
}

/* Does the same stand above, of another check that sees the same thing? */
static bool is_said(const struct sink *s, size_t at, const char *fix)
{
	const struct finding *f = s->findings.v[at];

	for (size_t i = 0; i < (is_wrong(f) ? at : s->findings.n); i++) {
		const struct finding *x = s->findings.v[i];
		bool above = has_advice(s, i, true) || (i < at && has_advice(s, i, is_wrong(f)));

		for (size_t k = 0; above && k < x->fix.n; k++)
			if (fix_is_same(x->fix.v[k], x->host ?: s->host, fix, f->host ?: s->host))
				return true;
	}
	return false;
}

/* Commands under a remark that says what they are for. */
static void put_commands(const struct sink *s, size_t at, struct text *t)
{
	const struct finding *f = s->findings.v[at];
	const char *about = arena_printf(t->a, "# %s", whose(t->a, f));
	bool said = false;

	for (size_t i = 0; i < f->fix.n; i++) {
		if (!fix_is_pasted(f->fix.v[i]) || is_said(s, at, f->fix.v[i]))
			continue;
		if (!said)
			put_line(t, about, strcspn(about, "\n"));
		said = true;
		for (const char *line = f->fix.v[i]; *line;) {
			size_t n = strcspn(line, "\n");

			put_line(t, line, n);
			line += n + (line[n] == '\n');
		}
	}
}

/* What is no command must not be pasted as one. */
static void put_words(const struct sink *s, size_t at, struct text *t)
{
	const struct finding *f = s->findings.v[at];

	for (size_t i = 0; i < f->fix.n; i++) {
		if (fix_is_pasted(f->fix.v[i]) || is_said(s, at, f->fix.v[i]))
			continue;
		text_add(t, "- ");
		put(t, whose(t->a, f));
		text_add(t, ": ");
		put(t, fix_text(f->fix.v[i]));
		text_add(t, "\n");
	}
}

/* Commands in a fence that none of the lines closes, then what is left to people. */
static void put_fixes(struct sink *s, struct text *t)
{
	struct text lines, words, fence;
	size_t ticks;

	text_init(&lines, s->a);
	text_init(&words, s->a);
	text_init(&fence, s->a);
	for (int wrong = 1; wrong >= 0; wrong--)
		for (size_t i = 0; i < s->findings.n; i++)
			if (has_advice(s, i, wrong)) {
				put_commands(s, i, &lines);
				put_words(s, i, &words);
			}
	ticks = lines.n ? longest_ticks(lines.s) : 0;
	for (size_t i = 0; i < 3 || i <= ticks; i++)
		text_add(&fence, "`");
	if (lines.n)
		text_addf(t, "\n### What to type\n\n%ssh\n%s%s\n", fence.s, lines.s, fence.s);
	if (words.n)
		text_addf(t, "\n### What to do%s\n\n%s", lines.n ? " besides" : "", words.s);
}

/* --- the whole ------------------------------------------------------------------------------ */
static void begin(struct sink *s)
{
	struct page *p = arena_alloc(s->a, sizeof(*p));

	text_init(&p->tables, s->a);
	s->state = p;
}

static void end(struct sink *s)
{
	struct page *p = s->state;
	struct text t;

	text_init(&t, s->a);
	text_addf(&t, "## %s: %s\n\n", s->opts->command, sink_verdict_word(s));
	put(&t, sink_summary(s));
	text_add(&t, "\n");
	put_findings(s, &t);
	put_fixes(s, &t);
	text_add(&t, p->tables.s);
	text_add(&t, p->fenced ? FENCE : "");
	put_rows(&t, s->data, "results");
	put_rows(&t, s->data, "pairs");
	fwrite(t.s, 1, t.n, s->out);
}

const struct renderer render_markdown = {
	.name = "markdown",
	.help = "to paste into an issue or a wiki",
	.wants_data = true,
	.folds = true,
	.begin = begin,
	.series = series,
	.row = row,
	.heading = heading,
	.remark = remark,
	.end = end,
};
