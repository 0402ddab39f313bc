/*
 * What people see. Findings stream; check and subject keep their columns as
 * far as the longest so far allows. On a terminal messages are wrapped; into a
 * pipe every finding is one line, for grep. With answer_only stdout belongs to
 * the answer and the rest is said on stderr.
 */
#include "lib/core/fix.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/report/grid.h"

#include <math.h>

enum { STATUS_W = 6, CHECK_W = 17, SUBJECT_W = 12, GROW_W = 26, GAP = 2, MANY_PASSES = 24 };

enum block { NOTHING, HEADING, REMARKS, FINDINGS, GRID, ANSWER };

struct table {
	struct term term;
	struct grid grid;
	enum block block;	      /* what was written last */
	size_t check_w, subject_w;    /* of the columns so far */
	size_t passes_hidden;	      /* since the latest that was shown */
	const struct finding *hidden; /* the latest of them */
};

static const enum style styles[ST_COUNT] = {
	[ST_PASS] = STYLE_GREEN, [ST_INFO] = STYLE_BLUE, [ST_WARN] = STYLE_YELLOW,
	[ST_FAIL] = STYLE_RED,	 [ST_SKIP] = STYLE_DIM,	 [ST_ERROR] = STYLE_RED,
};

static void begin(struct sink *s)
{
	struct table *t = s->state = ARENA_NEW(s->a, struct table);

	t->check_w = CHECK_W;
	if (s->opts->widest && term_columns(s->opts->widest) > CHECK_W)
		t->check_w = term_columns(s->opts->widest);
	t->subject_w = SUBJECT_W;
	if (!s->opts->answer_only)
		term_probe(&t->term, s->opts->output ? -1 : fileno(s->out));
	s->width = t->term.is_tty ? t->term.width : 0;
}

static void end_grid(struct sink *s)
{
	struct table *t = s->state;

	grid_end(s, &t->term, &t->grid);
}

static void tell_hidden(struct sink *s);

/* A blank line between things of different kinds and between tables, none after a heading. */
static void enter(struct sink *s, enum block block)
{
	struct table *t = s->state;

	if (block != FINDINGS)
		tell_hidden(s);
	end_grid(s);
	if (t->block != NOTHING && t->block != HEADING &&
	    (t->block != block || block == HEADING || block == GRID))
		fputc('\n', s->out);
	t->block = block;
}

/* Writes words from column @at on, to which @blanks lead, further lines indented by @hang. */
static void wrapped(struct sink *s, const char *text, size_t at, size_t blanks, size_t hang)
{
	const struct term *t = &((struct table *)s->state)->term;

	if (!t->is_tty || at + term_columns(text) <= t->width) {
		fprintf(s->out, "%*s%s\n", (int)blanks, "", text);
		return;
	}
	text = grid_wrapped(s->a, text, t->width > at ? t->width - at : 0, t->width - hang);
	if (*text != '\n') /* else nothing follows on this row, which they may be too many for */
		fprintf(s->out, "%*s", (int)blanks, "");
	for (size_t n; n = strcspn(text, "\n"), text[n]; text += n + 1)
		fprintf(s->out, "%.*s\n%*s", (int)n, text, (int)hang, "");
	fprintf(s->out, "%s\n", text);
}

/* "64 MiB", "3600 s" */
static void measured(struct text *t, const struct finding *f)
{
	struct unit_buf b;

	if (f->unit && streq(f->unit, "B") && f->value >= 0 && f->value < 1e18)
		text_add(t, format_size(&b, (uint64_t)f->value));
	else
		text_addf(t, "%s%s%s", format_number(&b, f->value), f->unit ? " " : "",
			  f->unit ? f->unit : "");
}

/* " (3600 s, expected <= 60 s)". That none was expected goes without saying. */
static void compared(struct text *t, const struct finding *f)
{
	bool has_value = isfinite(f->value), says = !streq(f->expected, "none");

	if (!has_value && !says)
		return;
	text_add(t, " (");
	if (has_value)
		measured(t, f);
	if (says)
		text_addf(t, "%sexpected %s", has_value ? ", " : "", f->expected);
	text_add(t, ")");
}

/* Who speaks and, where the words do not say it already, what was measured and expected. */
static const char *message(struct arena *a, const struct finding *f)
{
	bool bad = f->status == ST_WARN || f->status == ST_FAIL;
	const char *host = finding_host(f);
	int rank = finding_rank(f);
	struct text t;

	text_init(&t, a);
	if (rank >= 0)
		text_addf(&t, "rank %d%s", rank, host ? " on " : ": ");
	if (host)
		text_addf(&t, "%s: ", host);
	text_add(&t, f->message);
	if (bad && f->expected && !strstr(f->message, f->expected))
		compared(&t, f);
	return grid_shown(a, t.s);
}

static bool is_hidden(const struct sink *s, const struct finding *f)
{
	struct table *t = s->state;

	if (f->status == ST_WARN || f->status == ST_FAIL || f->status == ST_ERROR)
		return false;
	if (f->status == ST_PASS && !s->opts->quiet && !s->opts->verbose &&
	    s->count[ST_PASS] > MANY_PASSES)
		return t->hidden = f, t->passes_hidden++, true;
	return s->opts->quiet;
}

/* In a column that grows with what it meets, within reason. How far it reaches; @ret_blanks: what
 * is to follow up to there. */
static size_t put_column(FILE *out, const char *text, size_t *width, size_t *ret_blanks)
{
	size_t w = term_columns(text);

	if (w > *width && w <= GROW_W)
		*width = w;
	fputs(text, out);
	*ret_blanks = (w < *width ? *width - w : 0) + GAP;
	return w + *ret_blanks;
}

/* A command may have several lines; none of them is wrapped: it will be copied. */
static void put_fix(struct sink *s, const char *fix)
{
	const struct term *t = &((struct table *)s->state)->term;
	const char *arrow = fix_mark(fix);

	for (const char *line = fix_text(fix); *line; arrow = "  ") {
		size_t n = strcspn(line, "\n");

		fprintf(s->out, "%*s%s%s%s %s\n", STATUS_W, "", term_on(t, STYLE_BOLD), arrow,
			term_off(t), grid_shown(s->a, arena_strndup(s->a, line, n)));
		line += n + (line[n] == '\n');
	}
}

static void put_finding(struct sink *s, const struct finding *f)
{
	struct table *t = s->state;
	size_t at = STATUS_W, blanks;

	enter(s, FINDINGS);
	fprintf(s->out, "%s%s%s%*s", term_on(&t->term, styles[f->status]), status_name(f->status),
		term_off(&t->term), (int)(STATUS_W - strlen(status_name(f->status))), "");
	at += put_column(s->out, f->check, &t->check_w, &blanks);
	fprintf(s->out, "%*s", (int)blanks, "");
	at += put_column(s->out, f->subject ? grid_shown(s->a, f->subject) : "-", &t->subject_w,
			 &blanks);
	wrapped(s, message(s->a, f), at, blanks, at <= t->term.width / 2 ? at : STATUS_W);
	for (size_t i = 0; i < f->fix.n; i++)
		put_fix(s, f->fix.v[i]);
}

/* Below the others that passed; a single one takes no more room than the line that it is there. */
static void tell_hidden(struct sink *s)
{
	struct table *t = s->state;
	size_t n = t->passes_hidden;

	t->passes_hidden = 0;
	if (n == 1)
		put_finding(s, t->hidden);
	if (n < 2)
		return;
	enter(s, FINDINGS);
	fprintf(s->out, "%s%-*s%s... and %zu more (--verbose lists them)\n",
		term_on(&t->term, STYLE_GREEN), STATUS_W, status_name(ST_PASS), term_off(&t->term),
		n);
}

static void log_finding(struct sink *s, const struct finding *f)
{
	const char *subject = f->subject ? f->subject : "", *said = message(s->a, f);
	const char *gap = f->subject ? " " : "";

	if (f->answered && f->status == ST_INFO) /* no trouble, and said */
		return;
	if (f->answered && term_is_shared(fileno(s->out), STDERR_FILENO))
		log_said();
	else if (f->status == ST_WARN)
		log_warn("%s%s%s: %s", f->check, gap, subject, said);
	else if (f->status == ST_FAIL || f->status == ST_ERROR)
		log_error("%s: %s%s%s: %s", status_name(f->status), f->check, gap, subject, said);
	else if (f->status == ST_INFO)
		log_say("%s%s%s: %s", f->check, gap, subject, said);
	else
		log_detail("%s: %s%s%s: %s", status_name(f->status), f->check, gap, subject, said);
	for (size_t i = 0; i < f->fix.n; i++)
		log_hint("%s", f->fix.v[i]);
}

static void finding(struct sink *s, const struct finding *f)
{
	if (s->error)
		return; /* the run's own: the app says it on stderr */
	if (s->opts->answer_only)
		log_finding(s, f);
	else if (!is_hidden(s, f))
		put_finding(s, f);
}

static bool is_silent(const struct sink *s) { return s->opts->quiet || s->opts->answer_only; }

static void series(struct sink *s, const struct series *se)
{
	struct table *t = s->state;

	if (is_silent(s))
		return;
	enter(s, GRID);
	grid_begin(s, &t->term, &t->grid, se);
}

static void row(struct sink *s, const struct series *se, const struct cell *cells)
{
	struct table *t = s->state;

	if (is_silent(s))
		return;
	if (t->grid.se != se) /* something came between */
		series(s, se);
	grid_add(s, &t->grid, cells);
}

static void heading(struct sink *s, const char *text)
{
	struct table *t = s->state;

	if (is_silent(s))
		return;
	enter(s, HEADING);
	fprintf(s->out, "%s%s%s\n", term_on(&t->term, STYLE_BOLD), grid_shown(s->a, text),
		term_off(&t->term));
}

/* A line to be typed, or one that has such a line behind two spaces: it will be copied. */
static bool is_typed(const char *text)
{
	static const char beside_confirm[] = "         ";
	const char *colon = strstr(text, ":  ");

	return starts_with(text + strspn(text, " "), "-> ") || starts_with(text, "Confirm:") ||
	       starts_with(text, beside_confirm) || (colon && colon[3] != ' ');
}

/* Where the words begin: "Why:     ", "  or     ", "1. " */
static size_t hang_of(const char *text)
{
	size_t n = strcspn(text, " ");

	if (starts_with(text, "  or "))
		n += strlen("  or");
	else if (!n || !strchr(":.", text[n - 1]) || n > strlen("Why:"))
		return 0;
	return n + strspn(text + n, " ");
}

static void remark(struct sink *s, const char *text)
{
	const char *shown = grid_shown(s->a, text);
	size_t hang = hang_of(shown);

	if (s->opts->answer_only)
		log_say("%s", text);
	if (is_silent(s))
		return;
	enter(s, REMARKS);
	if (is_typed(shown)) {
		fprintf(s->out, "%s\n", shown);
		return;
	}
	fprintf(s->out, "%.*s", (int)hang, shown);
	wrapped(s, shown + hang, hang, 0, hang);
}

static void answer(struct sink *s, const char *text, size_t n)
{
	if (!s->opts->answer_only && n)
		enter(s, ANSWER);
	fwrite(text, 1, n, s->out);
}

static void end(struct sink *s)
{
	static const enum style color[] = {
		['P'] = STYLE_GREEN, ['F'] = STYLE_RED, ['E'] = STYLE_RED};
	struct table *t = s->state;
	const char *word = sink_verdict_word(s);

	if (s->opts->answer_only)
		return;
	tell_hidden(s);
	end_grid(s);
	if (!s->findings.n && streq(s->verdict, "pass") && !s->covers)
		return;
	enter(s, NOTHING);
	fprintf(s->out, "%s%s%s  ",
		term_on(&t->term, streq(s->verdict, "warn") ? STYLE_YELLOW : color[(int)*word]),
		word, term_off(&t->term));
	wrapped(s, grid_shown(s->a, sink_summary(s)), strlen(word) + 2, 0, strlen(word) + 2);
}

const struct renderer render_table = {
	.name = "table",
	.help = "aligned text for people",
	.folds = true,
	.begin = begin,
	.finding = finding,
	.series = series,
	.row = row,
	.heading = heading,
	.remark = remark,
	.answer = answer,
	.end = end,
};
