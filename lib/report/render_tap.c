#include "lib/core/term.h"
#include "lib/core/utf8.h"
#include "lib/report/report.h"

#include <math.h>

static void begin(struct sink *s) { fputs("TAP version 14\n", s->out); }

/* On the line of a test point # begins a directive and \ escapes it. */
static void description(struct sink *s, const char *text)
{
	for (const char *p = utf8_mend(s->a, text); *p; p++)
		if (*p == '#' || *p == '\\')
			fprintf(s->out, "\\%c", *p);
		else
			fputc((unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p, s->out);
}

/* A double-quoted YAML scalar. */
static void quoted(struct sink *s, const char *text)
{
	fputc('"', s->out);
	for (const char *p = utf8_mend(s->a, text); *p; p++)
		if (*p == '"' || *p == '\\')
			fprintf(s->out, "\\%c", *p);
		else if ((unsigned char)*p < ' ' || *p == 0x7f)
			fprintf(s->out, "\\x%02x", (unsigned char)*p);
		else
			fputc(*p, s->out);
	fputs("\"\n", s->out);
}

static void key(struct sink *s, const char *name, const char *value)
{
	if (!value)
		return;
	fprintf(s->out, "  %s: ", name);
	quoted(s, value);
}

static void diagnostics(struct sink *s, const struct finding *f)
{
	fputs("  ---\n", s->out);
	key(s, "severity", status_name(f->status));
	key(s, "message", f->message);
	if (isfinite(f->value))
		fprintf(s->out, "  value: %.6g\n", f->value);
	key(s, "unit", f->unit);
	key(s, "expected", f->expected);
	if (isfinite(f->seconds))
		fprintf(s->out, "  duration_ms: %.3f\n", f->seconds * 1e3);
	if (f->fix.n)
		fputs("  fix:\n", s->out);
	for (size_t i = 0; i < f->fix.n; i++) {
		fputs("    - ", s->out);
		quoted(s, f->fix.v[i]);
	}
	fputs("  ...\n", s->out);
}

static void finding(struct sink *s, const struct finding *f)
{
	bool failed = f->status == ST_FAIL || f->status == ST_ERROR ||
		      (f->status == ST_WARN && s->opts->strict);
	FILE *out = s->out;

	fprintf(out, "%sok %zu - ", failed ? "not " : "", s->findings.n);
	description(s, f->check);
	if (f->subject) {
		fputc(' ', out);
		description(s, f->subject);
	}
	if (f->host) {
		fputs(" on ", out);
		description(s, f->host);
	}
	if (f->rank >= 0)
		fprintf(out, " rank %d", f->rank);
	if (f->status == ST_SKIP) {
		fputs(" # SKIP ", out);
		description(s, f->message);
	}
	fputc('\n', out);
	if (f->status != ST_PASS || isfinite(f->value))
		diagnostics(s, f);
}

static void end(struct sink *s)
{
	char *line = arena_strdup(s->a, sink_summary(s));

	term_clean(line);
	fprintf(s->out, "# %s  %s\n", sink_verdict_word(s), line);
	fprintf(s->out, "1..%zu\n", s->findings.n);
}

const struct renderer render_tap = {
	.name = "tap",
	.help = "Test Anything Protocol 14",
	.begin = begin,
	.finding = finding,
	.end = end,
};
