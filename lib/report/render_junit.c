#include "lib/core/fix.h"
#include "lib/core/term.h"
#include "lib/core/utf8.h"
#include "lib/report/report.h"

#include <math.h>

/* XML 1.0 forbids most control characters and a few others, even escaped. */
static void put(FILE *out, uint32_t c, const char *bytes, size_t n)
{
	static const char *const entity[] = {
		['<'] = "&lt;",	  ['>'] = "&gt;",  ['&'] = "&amp;", ['"'] = "&quot;",
		['\n'] = "&#10;", ['\t'] = "&#9;", ['\r'] = "&#13;"};

	if (c < ARRAY_LEN(entity) && entity[c])
		fputs(entity[c], out);
	else if (c < ' ' || c == 0xfffe || c == 0xffff || c == UTF8_BAD)
		fputs("\xef\xbf\xbd", out);
	else if (!term_prints(c)) /* a person may look at it on a terminal */
		fprintf(out, "&#x%x;", c);
	else
		fwrite(bytes, 1, n, out);
}

static void xml(FILE *out, const char *s)
{
	uint32_t c;

	for (size_t took; *s; s += took) {
		took = utf8_next(s, 4, &c);
		put(out, c, s, took);
	}
}

static void attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	xml(out, value);
	fputc('"', out);
}

/* The name is to be the same in each run: what was drawn by lot this time is told here. */
static const char *said(const struct finding *f)
{
	return f->lasting ? arena_printf(f->a, "%s: %s", f->subject, f->message) : f->message;
}

static void body(FILE *out, const struct finding *f)
{
	xml(out, said(f));
	if (isfinite(f->value))
		fprintf(out, "\nmeasured: %.6g", f->value);
	if (f->unit) {
		fputc(' ', out);
		xml(out, f->unit);
	}
	if (f->expected) {
		fputs("\nexpected: ", out);
		xml(out, f->expected);
	}
	for (size_t i = 0; i < f->fix.n; i++) {
		fputc('\n', out);
		xml(out, fix_mark(f->fix.v[i]));
		fputc(' ', out);
		xml(out, fix_text(f->fix.v[i]));
	}
}

/* JUnit knows no warning: it is a pass with a note, or a failure where --strict says so. */
static const char *element(const struct sink *s, enum status st)
{
	switch (st) {
	case ST_FAIL:
		return "failure";
	case ST_WARN:
		return s->opts->strict ? "failure" : "system-out";
	case ST_ERROR:
		return "error";
	case ST_SKIP:
		return "skipped";
	case ST_INFO:
		return "system-out";
	default:
		return NULL;
	}
}

static void testcase(FILE *out, const struct sink *s, const struct finding *f)
{
	const char *tag = element(s, f->status), *host = finding_host(f);

	fputs("    <testcase", out);
	attribute(out, "classname", f->check);
	fputs(" name=\"", out);
	xml(out, f->lasting ?: f->subject ?: f->check);
	if (host) {
		fputs(" on ", out);
		xml(out, host);
	}
	if (finding_rank(f) >= 0)
		fprintf(out, " rank %d", f->rank);
	fprintf(out, "\" time=\"%.6f\"", isfinite(f->seconds) ? f->seconds : 0.0);
	if (!tag && f->lasting)
		tag = "system-out";
	if (!tag) {
		fputs("/>\n", out);
		return;
	}
	fprintf(out, ">\n      <%s", tag);
	if (!streq(tag, "system-out"))
		attribute(out, "message", said(f));
	if (streq(tag, "failure") || streq(tag, "error"))
		attribute(out, "type", status_name(f->status));
	fputc('>', out);
	if (streq(tag, "system-out"))
		fprintf(out, "%s: ", status_name(f->status));
	body(out, f);
	fprintf(out, "</%s>\n    </testcase>\n", tag);
}

static void totals(FILE *out, const struct sink *s)
{
	size_t failed = s->count[ST_FAIL] + (s->opts->strict ? s->count[ST_WARN] : 0);

	fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.6f\"",
		s->findings.n, failed, s->count[ST_ERROR], s->count[ST_SKIP], s->seconds);
}

static void end(struct sink *s)
{
	FILE *out = s->out;

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", out);
	attribute(out, "name", "windsock");
	totals(out, s);
	fputs(">\n  <testsuite", out);
	attribute(out, "name", s->opts->command);
	attribute(out, "hostname", s->host);
	fprintf(out, " timestamp=\"%.19s\"", s->time); /* the format has no zone: it is UTC */
	totals(out, s);
	fputs(">\n", out);
	for (size_t i = 0; i < s->findings.n; i++)
		testcase(out, s, s->findings.v[i]);
	fputs("    <system-out>", out);
	xml(out, sink_verdict_word(s));
	fputs("  ", out);
	xml(out, sink_summary(s));
	fputs("</system-out>\n  </testsuite>\n</testsuites>\n", out);
}

const struct renderer render_junit = {
	.name = "junit",
	.help = "JUnit XML for the dashboards of CI systems",
	.end = end,
};
