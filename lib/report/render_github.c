#include "lib/core/fix.h"
#include "lib/core/term.h"
#include "lib/core/utf8.h"
#include "lib/report/report.h"

/*
 * A workflow command ends at the line's end, so %, CR and LF are escaped, and
 * in a property : and , as well. Other controls are made harmless first.
 */
static void put(struct sink *s, const char *text, bool property)
{
	const char *p = utf8_mend(s->a, text);
	uint32_t c;

	for (size_t took; *p; p += took) {
		took = utf8_next(p, 4, &c);
		if (strchr(property ? "%\r\n:," : "%\r\n", *p))
			fprintf(s->out, "%%%02X", (unsigned char)*p);
		else
			fwrite(term_prints(c) ? p : "?", 1, term_prints(c) ? took : 1, s->out);
	}
}

static void finding(struct sink *s, const struct finding *f)
{
	static const char *const level[ST_COUNT] = {[ST_INFO] = "notice",
						    [ST_WARN] = "warning",
						    [ST_FAIL] = "error",
						    [ST_ERROR] = "error"};
	const char *host = finding_host(f);
	FILE *out = s->out;

	if (!level[f->status])
		return;
	fprintf(out, "::%s title=",
		f->status == ST_WARN && s->opts->strict ? "error" : level[f->status]);
	put(s, f->check, true);
	if (f->subject) {
		fputc(' ', out);
		put(s, f->subject, true);
	}
	fputs("::", out);
	if (host) {
		put(s, host, false);
		fputs(": ", out);
	}
	put(s, f->message, false);
	for (size_t i = 0; i < f->fix.n; i++) {
		fprintf(out, "%%0A%s ", fix_mark(f->fix.v[i]));
		put(s, fix_text(f->fix.v[i]), false);
	}
	fputc('\n', out);
}

static void end(struct sink *s)
{
	char *line = arena_strdup(s->a, sink_summary(s));

	term_clean(line);
	fprintf(s->out, "%s: %s  %s\n", s->opts->command, sink_verdict_word(s), line);
}

const struct renderer render_github = {
	.name = "github",
	.help = "annotations for GitHub Actions",
	.folds = true, /* a step shows ten annotations, not ten for each host */
	.finding = finding,
	.end = end,
};
