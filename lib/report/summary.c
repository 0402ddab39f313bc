/* What a run came to, in one line: the same words in every format that has room for them. */
#include "lib/report/report.h"

static void count_of(struct text *t, size_t n, const char *one, const char *many)
{
	if (n)
		text_addf(t, "%s%zu %s", t->n ? ", " : "", n, n == 1 ? one : many);
}

const char *sink_verdict_word(const struct sink *s)
{
	return streq(s->verdict, "fail") ? "FAIL" : streq(s->verdict, "error") ? "ERROR" : "PASS";
}

const char *sink_summary(const struct sink *s)
{
	const size_t *n = s->count;
	size_t checks = n[ST_PASS] + n[ST_WARN] + n[ST_FAIL];
	struct text t;

	text_init(&t, s->a);
	if (s->error)
		text_add(&t, s->file_lost ? s->file_lost : "stopped before the end");
	if (n[ST_FAIL] && checks > 1)
		text_addf(&t, "%s%zu of %zu checks failed", t.n ? ", " : "", n[ST_FAIL], checks);
	else if (n[ST_FAIL])
		text_addf(&t, "%sthe only check failed", t.n ? ", " : "");
	else if (checks)
		count_of(&t, checks, "check", "checks");
	else if (!s->error)
		text_add(&t,
			 streq(s->verdict, "error") ? "nothing was concluded" : "no check made");
	count_of(&t, n[ST_WARN], "warning", "warnings");
	/* the run's own error is a finding in most formats, but not a check */
	count_of(&t, n[ST_ERROR] - (s->error ? 1 : 0), "check broke", "checks broke");
	count_of(&t, n[ST_SKIP], "skipped", "skipped");
	if (n[ST_WARN] && !n[ST_FAIL] && streq(s->verdict, "fail"))
		text_add(&t, " (--strict)");
	if (s->covers && (!s->error || s->file_lost))
		text_addf(&t, ": %s", s->covers);
	return t.s;
}
