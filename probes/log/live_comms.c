/* NCCL's answers since 2.28, in JSON: each communicator with what each of its ranks says. */
#include "lib/report/json.h"
#include "probes/log/live_judge.h"

#include <math.h>

enum { NAMED = 4, OPS = 16 };
enum { SUCCESS = 0, INTERNAL_ERROR = 3, IN_PROGRESS = 7 }; /* ncclResult_t */

typedef LIST(const cJSON *) rank_list;

/* One communicator, as the answers have it. */
struct comm {
	const struct live *l;
	const char *subject;
	const cJSON *now;
	rank_list were; /* in the answer before, by number */
	bool is_new;	/* it was not in that */
	bool moves;
};

/* Some ranks, by name. */
struct names {
	struct text t;
	size_t n;
};

/* --- ranks ---------------------------------------------------------------------------- */

static const char *host_of(const cJSON *rank)
{
	const char *host = json_get_str(rank, "host");

	return host && *host && !streq(host, "unknown") ? host : NULL;
}

static int number_of(const cJSON *rank) { return json_get_int(rank, "rank", -1); }

static const char *name(struct arena *a, const cJSON *rank)
{
	return arena_printf(a, "rank %d (%s, pid %d)", number_of(rank),
			    host_of(rank) ?: "host unknown", json_get_int(rank, "pid", 0));
}

static void names_add(struct names *s, struct arena *a, const cJSON *rank, const char *how)
{
	if (s->n++ < NAMED)
		text_addf(&s->t, "%s%s%s", s->n > 1 ? ", " : "", name(a, rank), how);
}

static const char *names_end(struct names *s)
{
	text_more(&s->t, ",", s->n, NAMED);
	return s->t.s;
}

static int by_number(const void *x, const void *y)
{
	int p = number_of(*(const cJSON *const *)x), q = number_of(*(const cJSON *const *)y);

	return (p > q) - (p < q);
}

static void ranks_sort(const cJSON *comm, struct arena *a, rank_list *ret)
{
	const cJSON *rank;

	cJSON_ArrayForEach (rank, json_get(comm, "ranks"))
		*LIST_ADD(a, ret) = rank;
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_number);
}

/* NULL: it was not there. */
static const cJSON *was(const struct comm *c, const cJSON *rank)
{
	const cJSON **at = NULL;

	if (c->were.n)
		at = bsearch(&rank, c->were.v, c->were.n, sizeof(*c->were.v), by_number);
	return at ? *at : NULL;
}

static bool is_set(const cJSON *o, const char *key) { return cJSON_IsTrue(json_get(o, key)); }

static int state_of(const cJSON *rank, const char *key)
{
	return json_get_int(json_get(rank, "status"), key, SUCCESS);
}

static bool is_error(int code) { return code != SUCCESS && code != IN_PROGRESS; }

/* NCCL 2.27 and later say it of a split that is not set up yet, as of one that failed. */
static bool may_be_split(const cJSON *rank)
{
	return state_of(rank, "init_state") == INTERNAL_ERROR &&
	       !is_error(state_of(rank, "async_error"));
}

static const char *code_name(int code)
{
	static const char *const names[] = {
		[1] = ": unhandled cuda error", [2] = ": unhandled system error",
		[3] = ": internal error",	[4] = ": invalid argument",
		[5] = ": invalid usage",	[6] = ": remote error"};

	return code > 0 && code < (int)ARRAY_LEN(names) ? names[code] : "";
}

/* --- what may be wrong ---------------------------------------------------------------- */

static bool missing(const struct comm *c)
{
	struct arena *a = report_arena(c->l->r);
	const char *host = NULL;
	struct names gone = {0};
	const cJSON *rank;

	text_init(&gone.t, a);
	cJSON_ArrayForEach (rank, json_get(c->now, "missing_ranks")) {
		const cJSON *st = json_get(rank, "status");

		names_add(&gone, a, rank,
			  is_set(st, "considered_dead") ? " is dead"
			  : is_set(st, "unresponsive")	? " does not answer"
							: " is missing");
		host = host ? host : host_of(rank);
	}
	if (!gone.n)
		return false;
	live_fail(c->l, LIVE_GONE, c->subject, host, "%s; %d ranks of %d wait for it",
		  names_end(&gone), json_get_int(c->now, "ranks_count", 0),
		  json_get_int(c->now, "size", 0));
	return true;
}

static const char *how_it_failed(struct arena *a, const cJSON *rank)
{
	int init = state_of(rank, "init_state"), async = state_of(rank, "async_error");

	if (is_error(init) && init != INTERNAL_ERROR)
		return arena_printf(a, "that it could not set its communicator up (code %d%s)",
				    init, code_name(init));
	if (is_error(async))
		return arena_printf(a, "an asynchronous error (code %d%s)", async,
				    code_name(async));
	return is_set(json_get(rank, "status"), "abort_flag") ? "that its communicator was aborted"
							      : NULL;
}

static bool errors(const struct comm *c)
{
	struct arena *a = report_arena(c->l->r);
	const cJSON *rank;

	cJSON_ArrayForEach (rank, json_get(c->now, "ranks")) {
		const char *how = how_it_failed(a, rank);

		if (!how)
			continue;
		live_fail(c->l, LIVE_ERROR, c->subject, host_of(rank), "%s reports %s",
			  name(a, rank), how);
		return true;
	}
	return false;
}

static bool connects(const cJSON *rank)
{
	return state_of(rank, "init_state") == IN_PROGRESS || may_be_split(rank);
}

static bool still_connects(const struct comm *c, const cJSON *rank)
{
	return connects(rank) && (!was(c, rank) || connects(was(c, rank)));
}

/* For a moment all do, when it is made. */
static bool connecting(const struct comm *c)
{
	struct arena *a = report_arena(c->l->r);
	struct names who = {0};
	const cJSON *rank;
	bool unsure = false;
	size_t rest = 0;

	text_init(&who.t, a);
	cJSON_ArrayForEach (rank, json_get(c->now, "ranks"))
		if (still_connects(c, rank)) {
			names_add(&who, a, rank, "");
			unsure |= may_be_split(rank);
		} else {
			rest++;
		}
	if (!who.n)
		return false;
	live_warn(c->l, c->subject, "%s %s still connecting%s%s", names_end(&who),
		  who.n == 1 ? "is" : "are",
		  unsure ? ", or failed: NCCL says code 3 (internal error) of a split that is not "
			   "set up yet, too"
			 : "",
		  rest ? arena_printf(a, "; %zu other rank%s through", rest,
				      rest == 1 ? " is" : "s are")
		       : "");
	return true;
}

static double count_of(const cJSON *rank, const char *op)
{
	return json_get_num(json_get(rank, "collective_counts"), op, -1);
}

/* The ranks that called @op less often than the others. */
static bool behind(const struct comm *c, const char *op)
{
	struct arena *a = report_arena(c->l->r);
	double low = INFINITY, high = -1;
	const char *host = NULL;
	struct names who = {0};
	const cJSON *rank;
	size_t rest = 0;

	cJSON_ArrayForEach (rank, json_get(c->now, "ranks")) {
		double v = count_of(rank, op);

		low = v >= 0 && v < low ? v : low;
		high = v > high ? v : high;
	}
	if (!(low < high))
		return false;
	text_init(&who.t, a);
	cJSON_ArrayForEach (rank, json_get(c->now, "ranks"))
		if (count_of(rank, op) == low) {
			names_add(&who, a, rank, "");
			host = host ? host : host_of(rank);
		} else {
			rest++;
		}
	live_fail(c->l, LIVE_BEHIND, c->subject, host,
		  "%s called %s %.0f times, %zu other rank%s up to %.0f times: %s behind",
		  names_end(&who), op, low, rest, rest == 1 ? "" : "s", high,
		  who.n == 1 ? "it is" : "they are");
	return true;
}

static bool any_behind(const struct comm *c)
{
	const cJSON *ranks = json_get(c->now, "ranks"), *op;
	const cJSON *counts =
		ranks && ranks->child ? json_get(ranks->child, "collective_counts") : NULL;
	size_t n = 0;

	cJSON_ArrayForEach (op, counts)
		if (op->string && n++ < OPS && behind(c, op->string))
			return true;
	return false;
}

/* --- the answers ------------------------------------------------------------------------ */

static bool grew(const struct comm *c)
{
	const cJSON *rank, *op;

	cJSON_ArrayForEach (rank, json_get(c->now, "ranks"))
		cJSON_ArrayForEach (op, json_get(was(c, rank), "collective_counts"))
			if (op->string && count_of(rank, op->string) > op->valuedouble)
				return true;
	return false;
}

static bool is_same(const cJSON *p, const cJSON *q, const char *key)
{
	return streq(json_get_str(p, key) ?: "", json_get_str(q, key) ?: "");
}

static const cJSON *same_comm(const cJSON *answer, const cJSON *comm)
{
	const cJSON *c;

	cJSON_ArrayForEach (c, json_get(answer, "communicators"))
		if (is_same(c, comm, "hash") && is_same(c, comm, "secondary_hash"))
			return c;
	return NULL;
}

static void judge_comm(const struct comm *c, bool asked_twice)
{
	struct finding *f;

	if (missing(c) || errors(c) || (!c->is_new && connecting(c)) ||
	    (!c->moves && any_behind(c)))
		return;
	f = report_find(c->l->r, "live.job", c->subject);
	finding_set(f, ST_PASS, "all %d ranks are there%s", json_get_int(c->now, "size", 0),
		    c->moves	  ? " and the job moves"
		    : asked_twice ? ", but no collective was called within a second: busy "
				    "elsewhere, or all wait for the same thing"
				  : "");
	report_add(c->l->r, f);
}

void live_comms(const struct live *l, const cJSON *now, const cJSON *before)
{
	int late = json_get_int(json_get(now, "ras"), "timeouts_count", 0);
	const cJSON *all = json_get(now, "communicators"), *one;

	if (late > 0)
		live_timeouts(l, late);
	if (!cJSON_GetArraySize(all))
		live_nothing(l);
	cJSON_ArrayForEach (one, all) {
		struct comm c = {.l = l,
				 .subject = json_get_str(one, "hash") ?: "a communicator",
				 .now = one};

		ranks_sort(same_comm(before, one), report_arena(l->r), &c.were);
		c.is_new = before && !c.were.n;
		c.moves = c.is_new || grew(&c);
		judge_comm(&c, before != NULL);
	}
}
