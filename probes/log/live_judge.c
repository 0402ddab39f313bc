/* What NCCL's RAS service said, in one sentence per communicator. */
#include "lib/report/typed.h"
#include "probes/log/live.h"

#include "lib/report/json.h"

#include <ctype.h>
#include <math.h>

enum { DEPTH = 12, NAMED = 4, OPS = 16 };

struct tally {
	struct report *r;
	size_t moving; /* communicators whose counts grew between the answers */
};

static void cause(struct report *r, const char *id, const char *subject, const char *fix,
		  const char *confirm, const char *fmt, ...) PRINTF(6, 7);

/* One finding, and the same as data.causes[]. */
static void cause(struct report *r, const char *id, const char *subject, const char *fix,
		  const char *confirm, const char *fmt, ...)
{
	struct finding *f = report_find(r, "live.job", subject);
	cJSON *o, *array;
	va_list ap;

	va_start(ap, fmt);
	f->message = arena_vprintf(report_arena(r), fmt, ap);
	va_end(ap);
	f->status = ST_FAIL;
	finding_expect(f, "every rank there, and in the same collective");
	finding_fix(f, "%s", fix);
	report_add(r, f);
	if (!report_wants_data(r))
		return;
	array = cJSON_GetObjectItemCaseSensitive(report_data(r), "causes");
	o = json_push_object(array ? array : json_array(report_data(r), "causes"));
	json_str(o, "id", id); /* of no line: none is in the catalogue */
	json_str(o, "entry", id);
	json_str(o, "meaning", f->message);
	json_num(o, "confidence", 0.9);
	json_bool(o, "confident", true);
	json_push_str(json_array(o, "confirm"), confirm);
	fix_json(o, &f->fix);
}

static const char *name(struct arena *a, const cJSON *rank)
{
	const char *host = json_get_str(rank, "host");

	return arena_printf(a, "rank %d (%s, pid %d)", json_get_int(rank, "rank", -1),
			    host ? host : "host unknown", json_get_int(rank, "pid", 0));
}

static bool is_set(const cJSON *o, const char *key) { return cJSON_IsTrue(json_get(o, key)); }

static size_t missing(struct report *r, const char *subject, const cJSON *comm)
{
	struct arena *a = report_arena(r);
	const cJSON *rank;
	struct text t;
	size_t n = 0;

	text_init(&t, a);
	cJSON_ArrayForEach (rank, json_get(comm, "missing_ranks")) {
		const cJSON *st = json_get(rank, "status");
		const char *how = is_set(st, "considered_dead") ? "is dead"
				  : is_set(st, "unresponsive")	? "does not answer"
								: "is missing";

		if (n++ < NAMED)
			text_addf(&t, "%s%s %s", n > 1 ? ", " : "", name(a, rank), how);
	}
	text_more(&t, ",", n, NAMED);
	if (n)
		cause(r, "LIVE-001", subject,
		      "- read that rank's log and its host's dmesg; then start the job again",
		      "ssh HOST dmesg -T | tail", "%s; %d ranks of %d wait for it", t.s,
		      json_get_int(comm, "ranks_count", 0), json_get_int(comm, "size", 0));
	return n;
}

static const cJSON *other_half(const cJSON *comms, const char *hash)
{
	const cJSON *c;

	cJSON_ArrayForEach (c, comms) {
		const char *h = json_get_str(c, "hash");

		if (h && hash && streq(h, hash))
			return c;
	}
	return NULL;
}

static double count_of(const cJSON *rank, const char *op)
{
	return json_get_num(json_get(rank, "collective_counts"), op, -1);
}

static bool grew(const cJSON *was, const cJSON *is)
{
	const cJSON *a = json_get(was, "ranks"), *b = json_get(is, "ranks");
	const cJSON *x = a ? a->child : NULL, *y = b ? b->child : NULL;

	for (; x && y; x = x->next, y = y->next) {
		const cJSON *op;

		cJSON_ArrayForEach (op, json_get(x, "collective_counts"))
			if (op->string && count_of(y, op->string) > op->valuedouble)
				return true;
	}
	return false;
}

/* The ranks that called @op less often than the others. */
static bool behind(struct report *r, const char *subject, const cJSON *comm, const char *op)
{
	struct arena *a = report_arena(r);
	double low = INFINITY, high = -1;
	size_t n = 0, rest = 0;
	const cJSON *rank;
	struct text t;

	cJSON_ArrayForEach (rank, json_get(comm, "ranks")) {
		double v = count_of(rank, op);

		low = v >= 0 && v < low ? v : low;
		high = v > high ? v : high;
	}
	if (!(low < high))
		return false;
	text_init(&t, a);
	cJSON_ArrayForEach (rank, json_get(comm, "ranks")) {
		if (count_of(rank, op) != low)
			rest++;
		else if (n++ < NAMED)
			text_addf(&t, "%s%s", n > 1 ? ", " : "", name(a, rank));
	}
	text_more(&t, ",", n, NAMED);
	cause(r, "LIVE-002", subject, "ncclwhy --stacks   # on that host: where does it stand?",
	      "ncclwhy --live   # again in a minute",
	      "%s called %s %.0f times, %zu other rank%s up to %.0f times: %s behind", t.s, op, low,
	      rest, rest == 1 ? "" : "s", high, n == 1 ? "it is" : "they are");
	return true;
}

static bool errors(struct report *r, const char *subject, const cJSON *comm)
{
	const cJSON *rank;

	cJSON_ArrayForEach (rank, json_get(comm, "ranks")) {
		const cJSON *st = json_get(rank, "status");
		int code = json_get_int(st, "async_error", 0);

		if ((code == 0 || code == 7) && !is_set(st, "abort_flag"))
			continue;
		cause(r, "LIVE-003", subject, "NCCL_DEBUG=INFO COMMAND 2>&1 | ncclwhy",
		      "read that rank's log", "%s reports %s (code %d)",
		      name(report_arena(r), rank),
		      code ? "an asynchronous error" : "that its communicator was aborted", code);
		return true;
	}
	return false;
}

static bool any_behind(struct report *r, const char *subject, const cJSON *comm)
{
	const cJSON *ranks = json_get(comm, "ranks"), *op;
	const cJSON *counts =
		ranks && ranks->child ? json_get(ranks->child, "collective_counts") : NULL;
	size_t n = 0;

	cJSON_ArrayForEach (op, counts)
		if (op->string && n++ < OPS && behind(r, subject, comm, op->string))
			return true;
	return false;
}

static void judge_comm(struct tally *t, const cJSON *comm, const cJSON *later)
{
	const char *hash = json_get_str(comm, "hash");
	const char *subject = hash ? hash : "a communicator";
	bool moves = later && grew(comm, later);
	struct finding *f;

	t->moving += moves;
	if (missing(t->r, subject, later ? later : comm) || errors(t->r, subject, comm) ||
	    (!moves && any_behind(t->r, subject, comm)))
		return;
	f = report_find(t->r, "live.job", subject);
	finding_set(
		f, ST_PASS, "all %d ranks are there%s", json_get_int(comm, "size", 0),
		moves	? " and the job moves"
		: later ? ", but no collective was called within a second: busy elsewhere, or all "
			  "wait for the same thing"
			: "");
	report_add(t->r, f);
}

/* "#0-0 (hash) MISMATCH" and the indented lines after it, of versions without JSON. */
struct block {
	const char *head, *body;
};

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
		if (*ret->head != '#' && !starts_with(ret->head, "INCOMPLETE") &&
		    !starts_with(ret->head, "DEAD") && !starts_with(ret->head, "TIMEOUT"))
			continue;
		while (*s == ' ') {
			n = strcspn(s, "\n");
			text_add(&t, t.n ? "; " : "");
			text_addn(&t, s + strspn(s, " "), n - strspn(s, " "));
			s += n + (s[n] == '\n');
		}
	}
	*at = s;
	ret->body = t.s;
	return t.n > 0;
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

/* Ranks of a healthy job are seldom in one collective when they are asked, but get on. */
static bool got_on(struct arena *a, const struct block *now, const char *before)
{
	struct block was;

	if (!before || !strstr(now->head, "MISMATCH"))
		return false;
	while (next_block(a, &before, &was))
		if (streq(was.head, now->head))
			return !same_counts(was.body, now->body);
	return true; /* it was no mismatch */
}

/* The last part of an answer is there. */
static bool is_whole(const char *s)
{
	return strstr(s, "NCCL version") && strstr(s, "\nWarnings\n");
}

static void judge_text(struct report *r, const char *now, const char *before)
{
	struct arena *a = report_arena(r);
	const char *at = now;
	bool any = false, moves = false;
	struct finding *f;
	struct block b;

	while (next_block(a, &at, &b)) {
		if (got_on(a, &b, before)) {
			moves = true;
			continue;
		}
		any = true;
		cause(r, strstr(b.head, "MISMATCH") ? "LIVE-002" : "LIVE-001", b.head,
		      "ncclwhy --stacks   # on that host: where does it stand?",
		      "ncclwhy --live   # again in a minute", "%s", b.body);
	}
	if (any)
		return;
	f = report_find(r, "live.job", "all");
	if (is_whole(now)) {
		finding_set(f, ST_PASS, "NCCL reports no missing rank and no %s",
			    moves ? "standing mismatch: the job moves" : "mismatch");
	} else {
		finding_set(f, ST_ERROR,
			    "the answer was cut off, or is none of NCCL's: nothing is "
			    "known about the job");
		finding_fix(f, "ncclwhy --live HOST   # again, on another host of the job");
	}
	report_add(r, f);
}

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

void live_judge(const char *first, size_t n, const char *second, size_t m, struct report *r)
{
	cJSON *was = parse(report_arena(r), first, n);
	cJSON *is = was && second ? parse(report_arena(r), second, m) : NULL;
	struct tally t = {.r = r};
	const cJSON *comm;

	if (!was || !cJSON_IsArray(json_get(was, "communicators"))) {
		bool is_later = !was && second && is_whole(second);

		judge_text(r, is_later ? second : was ? "" : first, is_later ? first : NULL);
	} else {
		cJSON_ArrayForEach (comm, json_get(was, "communicators"))
			judge_comm(&t, comm,
				   other_half(json_get(is, "communicators"),
					      json_get_str(comm, "hash")));
	}
	report_covers(r, "the job that NCCL's RAS service knows there");
	cJSON_Delete(was);
	cJSON_Delete(is);
}
