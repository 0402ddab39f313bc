#include "lib/core/fix.h"
#include "lib/core/term.h"
#include "lib/core/utf8.h"
#include "lib/report/report.h"

#include <math.h>

/* Before the first line: not when the run begins, since a wrong command line may yet be seen. */
static void version(struct sink *s) { fputs("TAP version 14\n", s->out); }

/* On the line of a test point # begins a directive and \ escapes it. */
static void description(struct sink *s, const char *text)
{
	const char *p = utf8_mend(s->a, text);
	uint32_t c;

	for (size_t took; *p; p += took) {
		took = utf8_next(p, 4, &c);
		if (c == '#' || c == '\\')
			fputc('\\', s->out);
		fwrite(term_prints(c) ? p : "?", 1, term_prints(c) ? took : 1, s->out);
	}
}

/* A double-quoted YAML scalar. */
static void quoted(struct sink *s, const char *text)
{
	const char *p = utf8_mend(s->a, text);
	uint32_t c;

	fputc('"', s->out);
	for (size_t took; *p; p += took) {
		took = utf8_next(p, 4, &c);
		if (c == '"' || c == '\\')
			fprintf(s->out, "\\%c", (char)c);
		else if (!term_prints(c))
			fprintf(s->out, c < 0x100 ? "\\x%02x" : "\\U%08x", c);
		else
			fwrite(p, 1, took, s->out);
	}
	fputs("\"\n", s->out);
}

static void key(struct sink *s, const char *name, const char *value)
{
	if (!value)
		return;
	fprintf(s->out, "  %s: ", name);
	quoted(s, value);
}

/* As in the JSON: the numbers of those fixes that are for no shell. */
static void words(struct sink *s, const str_list *fixes)
{
	size_t n = 0;

	for (size_t i = 0; i < fixes->n; i++)
		if (!fix_is_typed(fixes->v[i]))
			fprintf(s->out, "%s%zu", n++ ? ", " : "  as_words: [", i);
	if (n)
		fputs("]\n", s->out);
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
		quoted(s, fix_text(f->fix.v[i]));
	}
	words(s, &f->fix);
	fputs("  ...\n", s->out);
}

static void finding(struct sink *s, const struct finding *f)
{
	bool failed = f->status == ST_FAIL || f->status == ST_ERROR ||
		      (f->status == ST_WARN && s->opts->strict);
	const char *host = finding_host(f);
	FILE *out = s->out;

	if (s->findings.n == 1)
		version(s);
	fprintf(out, "%sok %zu - ", failed ? "not " : "", s->findings.n);
	description(s, f->check);
	if (f->subject) {
		fputc(' ', out);
		description(s, f->subject);
	}
	if (host) {
		fputs(" on ", out);
		description(s, host);
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

	if (!s->findings.n)
		version(s);
	term_clean(line);
	fprintf(s->out, "# %s  %s\n", sink_verdict_word(s), line);
	fprintf(s->out, "1..%zu\n", s->findings.n);
}

const struct renderer render_tap = {
	.name = "tap",
	.help = "Test Anything Protocol 14",
	.finding = finding,
	.end = end,
};
