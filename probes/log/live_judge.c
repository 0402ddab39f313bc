/* What NCCL's RAS service said, in one sentence per communicator. */
#include "probes/log/live_judge.h"

#include "lib/core/quote.h"
#include "lib/report/json.h"
#include "lib/report/typed.h"
#include "probes/log/live.h"

#include <ctype.h>

enum { DEPTH = 12 };

/* --- what is found ------------------------------------------------------------------ */

static const char *again(const struct live *l)
{
	struct arena *a = report_arena(l->r);

	return arena_printf(a, "ncclwhy --live%s%s   # again in a minute",
			    streq(l->where, "localhost") ? "" : "=",
			    streq(l->where, "localhost") ? "" : shell_quote(a, l->where));
}

/* of no line: none is in the catalogue */
static const char *const ids[] = {
	[LIVE_GONE] = "LIVE-001", [LIVE_BEHIND] = "LIVE-002", [LIVE_ERROR] = "LIVE-003"};

static void advise(const struct live *l, enum live_cause cause, const char *host, struct finding *f)
{
	struct arena *a = report_arena(l->r);

	if (cause == LIVE_GONE)
		finding_fix(f, "- read that rank's log and its host's dmesg; then start the job "
			       "again");
	else if (cause == LIVE_ERROR)
		finding_fix(f, "NCCL_DEBUG=INFO COMMAND 2>&1 | ncclwhy");
	else if (host)
		finding_fix(f, "ncclwhy --stacks --hosts %s   # where does it stand?",
			    shell_quote(a, host));
	else
		finding_fix(f, "ncclwhy --stacks   # on that host: where does it stand?");
}

static const char *confirm(const struct live *l, enum live_cause cause, const char *host)
{
	struct arena *a = report_arena(l->r);

	if (cause == LIVE_GONE)
		return arena_printf(a, "ssh %s dmesg -T | tail",
				    host ? shell_quote(a, host) : "HOST");
	if (cause == LIVE_ERROR)
		return arena_printf(a, "read that rank's log%s%s", host ? ", on " : "", host ?: "");
	return again(l);
}

static void data(const struct live *l, const char *id, const char *confirm_line,
		 const struct finding *f)
{
	cJSON *array = cJSON_GetObjectItemCaseSensitive(report_data(l->r), "causes");
	cJSON *o = json_push_object(array ? array : json_array(report_data(l->r), "causes"));

	json_str(o, "id", id);
	json_str(o, "entry", id);
	json_str(o, "meaning", f->message);
	json_num(o, "confidence", 0.9);
	json_bool(o, "confident", true);
	json_push_str(json_array(o, "confirm"), confirm_line);
	fix_json(o, &f->fix);
}

static struct finding *found(const struct live *l, enum status status, const char *subject,
			     const char *message)
{
	struct finding *f = report_find(l->r, "live.job", subject);

	f->message = message;
	f->status = status;
	return f;
}

void live_fail(const struct live *l, enum live_cause cause, const char *subject, const char *host,
	       const char *fmt, ...)
{
	struct finding *f;
	va_list ap;

	va_start(ap, fmt);
	f = found(l, ST_FAIL, subject, arena_vprintf(report_arena(l->r), fmt, ap));
	va_end(ap);
	finding_expect(f, "every rank there, and in the same collective");
	advise(l, cause, host, f);
	report_add(l->r, f);
	if (report_wants_data(l->r))
		data(l, ids[cause], confirm(l, cause, host), f);
}

void live_warn(const struct live *l, const char *subject, const char *fmt, ...)
{
	struct finding *f;
	va_list ap;

	va_start(ap, fmt);
	f = found(l, ST_WARN, subject, arena_vprintf(report_arena(l->r), fmt, ap));
	va_end(ap);
	finding_fix(f, "%s", again(l));
	report_add(l->r, f);
}

void live_timeouts(const struct live *l, int n)
{
	live_warn(l, "timeouts",
		  "NCCL's service encountered %d communication timeout%s: what it says may lack "
		  "ranks",
		  n, n == 1 ? "" : "s");
}

void live_nothing(const struct live *l)
{
	live_warn(l, "all",
		  "there is no communicator: the job still starts, has ended, or uses no NCCL");
}

/* --- the answers --------------------------------------------------------------------- */

/* NCCL 2.28.7 to 2.28.9 forget a comma in what they say of a missing rank, behind a number. */
static const char *with_commas(struct arena *a, const char *s, size_t n)
{
	const char *end = s + n;
	struct text t;

	text_init(&t, a);
	while (s < end) {
		const char *stop = memchr(s, '\n', (size_t)(end - s)) ?: end, *next = stop;

		while (next < end && strchr(" \r\n", *next))
			next++;
		text_addn(&t, s, (size_t)(stop - s));
		if (stop > s && isdigit((unsigned char)stop[-1]) && next < end && *next == '"')
			text_add(&t, ",");
		text_add(&t, "\n");
		s = stop + 1;
	}
	return t.s;
}

static cJSON *parse(struct arena *a, const char *s, size_t n)
{
	struct err ignored = {0};
	cJSON *o = json_parse(s, n, DEPTH, &ignored);

	if (o || !n || *s != '{')
		return o;
	s = with_commas(a, s, n);
	return json_parse(s, strlen(s), DEPTH, &ignored);
}

static bool is_status(const cJSON *o) { return cJSON_IsArray(json_get(o, "communicators")); }

/* The last one that is whole. */
static void judge_text(const struct live *l, const char *first, const char *second)
{
	bool is_later = second && live_text_is_whole(second);

	live_text(l, is_later ? second : first, is_later ? first : NULL);
}

void live_judge(const char *first, size_t n, const char *second, size_t m, const char *where,
		struct report *r)
{
	const struct live l = {.r = r, .where = where};
	cJSON *was = parse(report_arena(r), first, n);
	cJSON *is = second ? parse(report_arena(r), second, m) : NULL;

	if (is_status(is))
		live_comms(&l, is, is_status(was) ? was : NULL);
	else if (is_status(was))
		live_comms(&l, was, NULL);
	else
		judge_text(&l, was ? "" : first, was ? NULL : second);
	report_covers(r, "the job that NCCL's RAS service knows there");
	cJSON_Delete(was);
	cJSON_Delete(is);
}
