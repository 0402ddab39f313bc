/* NCCL's answers of 2.24 to 2.27, which are for people. */
#include "lib/report/typed.h"
#include "probes/log/live_judge.h"

/* "#0-0 (hash) MISMATCH" and the indented lines after it, with empty ones between them. */
struct block {
	const char *head, *body;
};

static bool is_head(const char *line)
{
	return *line == '#' || starts_with(line, "INCOMPLETE") || starts_with(line, "DEAD") ||
	       starts_with(line, "TIMEOUT");
}

/* False: there is no more of them. */
static bool next_block(struct arena *a, const char **at, struct block *ret)
{
	const char *s = *at;
	struct text t;

	text_init(&t, a);
	while (*s && !t.n) {
		size_t n = strcspn(s, "\n");

		ret->head = arena_strndup(a, s, n);
		s += n + (s[n] == '\n');
		if (!is_head(ret->head))
			continue;
		for (; *s == ' ' || *s == '\n'; s += n + (s[n] == '\n')) {
			size_t indent = strspn(s, " ");

			n = strcspn(s, "\n");
			text_add(&t, t.n && n > indent ? "; " : "");
			text_addn(&t, s + indent, n - indent);
		}
	}
	*at = s;
	ret->body = t.s;
	return t.n > 0;
}

static bool is_about(const struct block *b, const char *word) { return strstr(b->head, word); }

/* What names a communicator: NCCL numbers them by their sizes, anew for each answer. */
static const char *hash_of(struct arena *a, const struct block *b)
{
	const char *at = strchr(b->head, '(');

	return at ? arena_strndup(a, at, strcspn(at, ")")) : b->head;
}

/* "30 ranks have launched up to operation 641; 2 ranks ... operation 640": do they say the same? */
static bool same_counts(const char *a, const char *b)
{
	static const char key[] = "up to operation ";

	for (;;) {
		a = strstr(a, key);
		b = strstr(b, key);
		if (!a || !b)
			return !a && !b;
		a += sizeof(key) - 1;
		b += sizeof(key) - 1;
		if (strtoull(a, NULL, 10) != strtoull(b, NULL, 10))
			return false;
	}
}

/* An error that NCCL 2.27 also has for a split that is not set up yet, and nothing else. */
static bool may_be_split(const struct block *b)
{
	static const char key[] = "reported ", word[] = "Internal error";
	const char *at = b->body;
	size_t n = 0;

	if (!is_about(b, "ERROR") || !strstr(at, "Initialization error"))
		return false;
	for (; (at = strstr(at, key)); n++) {
		at += strlen(key);
		if (!starts_with(at, word))
			return false;
	}
	return n && !strstr(b->body, "Asynchronous error");
}

/* Ranks of a healthy job are seldom in one collective when they are asked, but get on. What was not
 * said before does, too. */
static bool got_on(struct arena *a, const struct block *now, const char *before)
{
	const char *word = is_about(now, "MISMATCH") ? "MISMATCH" : "ERROR";
	struct block was;

	if (!before || (streq(word, "ERROR") && !may_be_split(now)))
		return false;
	while (next_block(a, &before, &was))
		if (is_about(&was, word) && streq(hash_of(a, &was), hash_of(a, now)) &&
		    same_counts(was.body, now->body))
			return false;
	return true;
}

/* "... managed by process 47 on node 10.0.0.3": the first one's; NULL: of none. */
static const char *host_in(struct arena *a, const char *body)
{
	static const char key[] = " on node ";
	const char *at = strstr(body, key);

	return at ? arena_strndup(a, at + strlen(key), strcspn(at + strlen(key), " ;")) : NULL;
}

static void tell_block(const struct live *l, const struct block *b)
{
	enum live_cause cause = is_about(b, "MISMATCH") ? LIVE_BEHIND
				: is_about(b, "ERROR")	? LIVE_ERROR
							: LIVE_GONE;

	if (may_be_split(b))
		live_warn(l, b->head, "%s: NCCL says so of a split that is not set up yet, too",
			  b->body);
	else
		live_fail(l, cause, b->head, host_in(report_arena(l->r), b->body), "%s", b->body);
}

/* "Encountered 1 communication timeout while ..." */
static int timeouts(const struct block *b)
{
	return (int)strtol(b->body + strcspn(b->body, "0123456789"), NULL, 10);
}

bool live_text_is_whole(const char *s)
{
	return strstr(s, "NCCL version") && strstr(s, "\nWarnings\n");
}

static void tell_well(const struct live *l, const char *now, bool moves)
{
	struct finding *f;

	if (live_text_is_whole(now) && strstr(now, "\nNo communicator data collected!")) {
		live_nothing(l);
		return;
	}
	f = report_find(l->r, "live.job", "all");
	if (live_text_is_whole(now)) {
		finding_set(f, ST_PASS, "NCCL reports no missing rank and no %s",
			    moves ? "standing mismatch: the job moves" : "mismatch");
	} else {
		finding_set(f, ST_ERROR,
			    "the answer was cut off, or is none of NCCL's: nothing is "
			    "known about the job");
		finding_fix(f, "ncclwhy --live HOST   # again, on another host of the job");
	}
	report_add(l->r, f);
}

void live_text(const struct live *l, const char *now, const char *before)
{
	struct arena *a = report_arena(l->r);
	bool any = false, moves = false;
	const char *at = now;
	struct block b;

	while (next_block(a, &at, &b)) {
		bool gets_on = got_on(a, &b, before), is_late = is_about(&b, "TIMEOUT");

		moves |= gets_on;
		any |= !gets_on && !is_late;
		if (is_late)
			live_timeouts(l, timeouts(&b));
		else if (!gets_on)
			tell_block(l, &b);
	}
	if (!any)
		tell_well(l, now, moves);
}
