/*
 * A check plug-in as Nagios, Icinga, Sensu and gcm run them: "NAME STATUS - the first cause |
 * values", details below, and exit codes of their own. They part text from values at the first |,
 * so no text may have one, and old ones read a few KiB: what matters stands first.
 */
#include "lib/core/fix.h"
#include "lib/core/term.h"
#include "lib/report/report.h"

#include <ctype.h>
#include <math.h>

enum { OK, WARNING, CRITICAL, UNKNOWN }; /* their exit codes */
enum { VALUES_MAX = 3 << 10, TEXT_MAX = 7 << 10 };

static int exit_code(int own, bool warned)
{
	return own == 0 ? (warned ? WARNING : OK) : own == 1 ? CRITICAL : UNKNOWN;
}

/* --- words ---------------------------------------------------------------------------------- */
static const char *harmless(struct arena *a, const char *text)
{
	char *t = arena_strdup(a, text);

	term_clean(t);
	for (char *bar = t; (bar = strchr(bar, '|'));)
		*bar = '/';
	return t;
}

static const char *said(struct arena *a, const struct finding *f)
{
	const char *host = finding_host(f);
	int rank = finding_rank(f);
	struct text t;

	text_init(&t, a);
	text_addf(&t, "%s%s%s%s%s", f->check, f->subject ? " " : "", f->subject ?: "",
		  host ? " on " : "", host ?: "");
	if (rank >= 0)
		text_addf(&t, " rank %d", rank);
	text_addf(&t, ": %s", f->message);
	return harmless(a, t.s);
}

static const struct finding *first(const struct sink *s, enum status which)
{
	for (size_t i = 0; i < s->findings.n; i++)
		if (s->findings.v[i]->status == which)
			return s->findings.v[i];
	return NULL;
}

/* Why it is what it is, and how much more there is of it. */
static void put_cause(const struct sink *s, struct text *t)
{
	bool failed = streq(s->verdict, "fail");
	enum status which = failed && s->count[ST_FAIL]	 ? ST_FAIL
			    : failed			 ? ST_WARN /* --strict */
			    : streq(s->verdict, "warn")	 ? ST_WARN
			    : streq(s->verdict, "error") ? ST_ERROR
							 : ST_COUNT;
	const struct finding *f = s->error && which == ST_ERROR ? NULL : first(s, which);

	if (f)
		text_add(t, said(s->a, f));
	else
		text_add(t, harmless(s->a,
				     s->error && which == ST_ERROR ? s->error : sink_summary(s)));
	if (f && s->count[which] > 1)
		text_addf(t, " (and %zu more)", s->count[which] - 1);
}

/* A line with a pipe cannot be told here as it is typed. */
static void put_fix(const struct sink *s, struct text *t, const char *fix)
{
	const char *mark = fix_mark(fix), *line = fix_text(fix);

	if (fix_is_typed(fix) && strchr(fix, '|')) {
		text_addf(t, "   - a line to type that has a pipe: %s without --format shows it\n",
			  s->opts->command);
		return;
	}
	for (; *line; mark = "  ") {
		size_t n = strcspn(line, "\n");

		text_addf(t, "  %s %s\n", mark, harmless(s->a, arena_strndup(s->a, line, n)));
		line += n + (line[n] == '\n');
	}
}

/* What is wrong, the worst first; the last of it is left out where there is no room. */
static void put_details(const struct sink *s, struct text *t)
{
	static const enum status order[] = {ST_FAIL, ST_ERROR, ST_WARN};
	size_t left = 0;

	for (size_t k = 0; k < ARRAY_LEN(order); k++)
		for (size_t i = 0; i < s->findings.n; i++) {
			const struct finding *f = s->findings.v[i];

			if (f->status != order[k] || (s->error && streq(f->check, "run")))
				continue;
			if (t->n > TEXT_MAX) {
				left++;
				continue;
			}
			text_addf(t, "%s %s\n", status_name(f->status), said(s->a, f));
			for (size_t j = 0; j < f->fix.n; j++)
				put_fix(s, t, f->fix.v[j]);
		}
	if (left)
		text_addf(t, "... and %zu more\n", left);
}

/* --- values --------------------------------------------------------------------------------- */

/* Digits and a point, which is all that they know. False: it is no such number. */
static bool number(char *ret, size_t n, double v)
{
	char *end;

	if (!isfinite(v) || fabs(v) >= 1e15)
		return false;
	(void)snprintf(ret, n, "%.*f", fabs(v) < 1000 ? 9 : 3, v);
	for (end = ret + strlen(ret); end[-1] == '0'; end--)
		;
	end[end[-1] == '.' ? -1 : 0] = '\0';
	return true;
}

/* They know seconds, bytes and percent; another unit is said in the label. */
static const char *unit_of(const struct finding *f)
{
	static const char *const units[] = {"s", "ms", "us", "%", "B"};

	for (size_t i = 0; f->unit && i < ARRAY_LEN(units); i++)
		if (streq(f->unit, units[i]))
			return units[i];
	return f->unit && streq(f->unit, "bytes") ? "B" : "";
}

/* Of runs to be compared, so without what was drawn by lot. = and ' would end it. */
static const char *label_of(struct arena *a, const struct finding *f)
{
	const char *subject = f->lasting ?: f->subject;
	struct text t;

	text_init(&t, a);
	text_addf(&t, "%s%s%s", f->check, subject ? " " : "", subject ?: "");
	if (f->host && !(subject && streq(f->host, subject)))
		text_addf(&t, " %s", f->host);
	if (f->rank >= 0)
		text_addf(&t, " rank %d", f->rank);
	if (f->unit && !*unit_of(f))
		text_addf(&t, " %s", f->unit);
	term_clean(t.s);
	for (char *p = t.s; (p = strpbrk(p, "='|"));)
		*p = '_';
	return t.s;
}

/* ">= 2 GB/s" of a value in GB/s is alert below 2: "2:"; "<= 5 ms" is "5". */
static const char *limit_of(const struct finding *f)
{
	const char *x = f->expected ?: "", *unit = f->unit ?: "";
	bool least = starts_with(x, ">= ");
	char shown[64], *end;
	double v;

	if (!least && !starts_with(x, "<= "))
		return "";
	v = strtod(x + 3, &end);
	if (end == x + 3 || !number(shown, sizeof(shown), v))
		return "";
	end += *end == ' ';
	if (!starts_with(end, unit) || isalnum((unsigned char)end[strlen(unit)]) ||
	    (!*unit && *end))
		return "";
	return arena_printf(f->a, "%s%s", shown, least ? ":" : "");
}

static bool has_label(const str_list *labels, const char *label)
{
	for (size_t i = 0; i < labels->n; i++)
		if (streq(labels->v[i], label))
			return true;
	return false;
}

/* The same label twice would be two lines of one graph: the first stays. */
static void put_values(const struct sink *s, struct text *t)
{
	str_list labels = {0};
	char shown[64];

	if (number(shown, sizeof(shown), s->seconds))
		text_addf(t, "time=%ss", shown);
	text_addf(t, " failed=%zu;;0;0 warnings=%zu;0;;0", s->count[ST_FAIL], s->count[ST_WARN]);
	for (size_t i = 0; i < s->kept.n && t->n < VALUES_MAX; i++) {
		const struct finding *f = s->kept.v[i];
		const char *label = label_of(s->a, f), *limit = limit_of(f);

		if (!number(shown, sizeof(shown), f->value) || has_label(&labels, label))
			continue;
		*LIST_ADD(s->a, &labels) = label;
		text_addf(t, " '%s'=%s%s", label, shown, unit_of(f));
		if (*limit)
			text_addf(t, "%s%s", f->status == ST_FAIL ? ";;" : ";", limit);
	}
}

/* --- the whole ------------------------------------------------------------------------------ */
static void end(struct sink *s)
{
	const char *word = streq(s->verdict, "fail")	? "CRITICAL"
			   : streq(s->verdict, "error") ? "UNKNOWN"
			   : streq(s->verdict, "warn")	? "WARNING"
							: "OK";
	char *name = arena_strdup(s->a, s->opts->command);
	struct text values, t;

	for (char *p = name; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	text_init(&values, s->a);
	put_values(s, &values);
	text_init(&t, s->a);
	text_addf(&t, "%s %s - ", name, word);
	put_cause(s, &t);
	text_addf(&t, " | %s\n", values.s);
	if (*word != 'O' && !s->error)
		text_addf(&t, "%s\n", harmless(s->a, sink_summary(s)));
	put_details(s, &t);
	fwrite(t.s, 1, t.n, s->out);
}

const struct renderer render_nagios = {
	.name = "nagios",
	.help = "a check plug-in of Nagios, Icinga, Sensu, with their exit codes",
	.folds = true,
	.exit_code = exit_code,
	.end = end,
};
