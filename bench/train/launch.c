#include "bench/train/launch.h"

#include "bench/ranks/mpirun_child.h"
#include "bench/ranks/reason.h"
#include "bench/train/hear.h"
#include "bench/train/say_lost.h"
#include "lib/cluster/rsh.h"
#include "lib/cluster/typed_way.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/report/envelope.h"
#include "lib/report/json.h"
#include "lib/report/typed.h"

#include <math.h>
#include <sys/wait.h>

/* --- rank 0's report becomes ours ------------------------------------------------- */

static const char *own(struct report *r, const cJSON *from, const char *key)
{
	const char *s = json_get_str(from, key);

	return s && *s ? arena_strdup(report_arena(r), s) : NULL;
}

static enum status status_of(const char *name)
{
	enum status st = ST_PASS;

	while (name && st < ST_ERROR && !streq(name, status_name(st)))
		st++;
	return st;
}

/* A sentence about one rank begins with it. */
static const char *subject(struct arena *a, const char *sentence)
{
	size_t digits;

	if (!starts_with(sentence, "rank "))
		return "ranks";
	digits = strspn(sentence + 5, "0123456789");
	return digits ? arena_strndup(a, sentence, 5 + digits) : "ranks";
}

/* "rank 1 (b, 10.0.0.2)", as all know it who met it. */
static const char *name_of(const struct hear *h, int rank, struct arena *a)
{
	return (size_t)rank < h->names.n ? arena_strdup(a, h->names.v[rank])
					 : arena_printf(a, "rank %d", rank);
}

/* Survivors saw a connection close, mpirun an exit code; who sheltered the rank saw it die. */
static const char *with_cause(const char *said, bool began, const struct hear *h, struct arena *a)
{
	static const char lost[] = ": connection lost";
	bool of_rank = starts_with(said, "rank "), of_0 = starts_with(said, "the rendezvous at ");
	int who = of_rank ? (int)strtol(said + 5, NULL, 10) : 0; /* rank 0 keeps the rendezvous */
	const char *at = strstr(said, of_rank ? " died: connection lost" : lost);

	if (h->died < 0)
		return said;
	if (starts_with(said, "a rank died "))
		return arena_printf(a, "%s %s: %s", name_of(h, h->died, a),
				    began ? "died" : "ended before it joined", h->cause);
	if (!(of_rank || of_0) || (who != h->died && who != h->echo))
		return said;
	if (who == h->died && strstr(said, " missing: "))
		return arena_printf(a, "rank %d ended before it joined: %s", who, h->cause);
	if (!at)
		return said;
	if (of_rank && who == h->died)
		return arena_printf(a, "%.*s died: %s%s", (int)(at - said), said, h->cause,
				    strstr(at, lost) + strlen(lost));
	return arena_printf(a, "%s died: %s%s", name_of(h, h->died, a), h->cause,
			    strstr(at, lost) + strlen(lost));
}

/* NULL: it has not met the others. */
static const char *host_of_rank(const struct hear *h, int rank, struct arena *a)
{
	return rank >= 0 && (size_t)rank < h->hosts.n ? arena_strdup(a, h->hosts.v[rank]) : NULL;
}

static void take_finding(struct report *r, const cJSON *from, const char *home,
			 const struct hear *h)
{
	struct arena *a = report_arena(r);
	const char *host = own(r, from, "host"), *said = json_text(from, "message");
	const char *sentence = with_cause(said, true, h, a);
	struct finding *f =
		report_find(r, own(r, from, "check") ?: "run",
			    sentence == said ? own(r, from, "subject") : subject(a, sentence));

	finding_set(f, status_of(json_get_str(from, "status")), "%s", sentence);
	f->rank = sentence == said ? json_get_int(from, "rank", -1) : say_rank_in(sentence);
	f->host = sentence == said ? host : host_of_rank(h, f->rank, a);
	if (f->rank < 0 && home && streq(f->host ?: "", home))
		f->host = NULL; /* of all ranks we say it */
	finding_value(f, json_get_num(from, "value", NAN), own(r, from, "unit"));
	f->expected = own(r, from, "expected");
	fix_from_json(from, f->a, &f->fix);
	report_add(r, f);
}

/* Of a way that rank 0 would ask about from its host both ends are asked, from here. */
static void ask_both_ends(struct report *r, const cJSON *findings, const struct launch_opts *o)
{
	const char *between = launch_between(o, report_arena(r));
	const cJSON *f;

	cJSON_ArrayForEach (f, findings) {
		cJSON *fix = cJSON_GetArrayItem(json_get(f, "fix"), 0);

		if (between && streq(json_text(f, "check"), "rank.alive") && cJSON_IsString(fix) &&
		    starts_with(fix->valuestring, "portcheck "))
			(void)cJSON_SetValuestring(fix, between);
	}
}

/* Rank 0's own failure is ours: its finding "run" is made again from the error. */
static void take_error(const cJSON *from, int code, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	str_list fixes = {0};

	fix_from_json(from, &a, &fixes);
	err_set(e, code == 4 ? ERR_ABSENT : ERR_SYS, "%s", json_get_str(from, "message") ?: "?");
	if (fixes.n)
		(void)err_take_fix(e, fixes.v[0]);
}

/* What rank 0 calls local is so on its host: here "2 local ranks" are "2 ranks on node1". */
static const char *seen_from_here(const char *covers, const struct launch_result *l,
				  struct arena *a)
{
	const char *local = strstr(covers, " local rank"), *ranks, *rest;

	if (!local || l->nhosts != 1 || l->hosts[0].local)
		return covers;
	ranks = local + strlen(" local ");
	rest = ranks + strcspn(ranks, " ");
	return arena_printf(a, "%.*s %.*s on %s,%s", (int)(local - covers), covers,
			    (int)(rest - ranks), ranks, l->hosts[0].name, rest);
}

static int take_report(struct report *r, cJSON *doc, int code, const struct hear *h,
		       const struct launch_result *l, struct err *e)
{
	const cJSON *list = json_get(doc, "findings"), *from;
	cJSON *data = cJSON_DetachItemFromObject(doc, "data"), *part;
	const char *check;

	for (from = list ? list->child : NULL; from; from = from->next) {
		check = json_get_str(from, "check");
		if (check && streq(check, "run"))
			take_error(from, code, e);
		else
			take_finding(r, from, json_get_str(doc, "host"), h);
	}
	if (json_get_str(data, "covers"))
		report_covers(r, "%s",
			      seen_from_here(json_get_str(data, "covers"), l, report_arena(r)));
	cJSON_DeleteItemFromObjectCaseSensitive(data, "covers");
	while (data && (part = cJSON_DetachItemFromArray(data, 0)))
		cJSON_AddItemToObject(report_data(r), part->string, part);
	cJSON_Delete(data);
	return e->kind ? -1 : 0;
}

/* --- what rank 0 did not say ------------------------------------------------------- */

/* On this machine there is no network that could be in the way. */
static void fix_host(struct finding *f, const struct launch_host *h)
{
	const char *fix = launch_fix(h, f->a);

	if (h->local)
		return finding_fix(f, "uptime  # too busy for so many ranks? --np, or --deadline");
	if (fix)
		return finding_fix(f, "%s", fix);
	finding_fix(f, "%s", typed_there(f->a, rsh_typed(f->a, NULL), h->name, "true"));
	finding_fix(f, "%s", typed_for(f->a, "portcheck", NULL, h->name));
}

static void say_hosts(struct report *r, const struct launch_result *l)
{
	for (size_t i = 0; i < l->nhosts; i++) {
		struct finding *f;

		if (!l->hosts[i].trouble)
			continue;
		f = report_find(r, "rank.joined", l->hosts[i].name);
		finding_set(f, ST_FAIL, "%s", l->hosts[i].trouble);
		finding_expect(f, "every host starts its ranks");
		fix_host(f, &l->hosts[i]);
		report_add(r, f);
	}
}

static bool is_known(const struct launch_result *l)
{
	for (size_t i = 0; i < l->nhosts; i++)
		if (l->hosts[i].trouble && streq(l->hosts[i].trouble, l->failure))
			return true;
	return false;
}

/* NULL: unknown, or all are on one. */
static const char *host_of(const struct launch_result *l, const struct hear *h, const char *rank)
{
	bool are_apart = false;
	uint64_t i;

	if (!starts_with(rank, "rank ") || parse_uint(rank + 5, &i))
		return NULL;
	if (i < l->nranks)
		return l->nhosts > 1 ? l->ranks[i].host->name : NULL;
	for (size_t k = 1; k < h->hosts.n; k++)
		are_apart = are_apart || !streq(h->hosts.v[k], h->hosts.v[0]);
	return are_apart && i < h->hosts.n ? h->hosts.v[i] : NULL;
}

static void say_failure(struct report *r, const struct launch_result *l, const struct hear *h)
{
	const char *last = h->last;
	bool began = *last || h->names.n;
	const char *told, *check = reason_check(report_arena(r), l->failure, &told);
	const char *sentence = with_cause(reason_essence(told), began, h, report_arena(r));
	const char *fix = check ? reason_carried(report_arena(r), l->failure) : l->fix;
	const char *missing_check = began ? "rank.alive" : "rank.joined";
	const char *who = subject(report_arena(r), sentence);
	struct finding *f = report_find(r, check ?: missing_check, who);

	f->rank = say_rank_in(sentence);
	f->host = host_of(l, h, who);
	if (check && !fix)
		fix = reason_fix(check, told);
	finding_set(f, ST_FAIL, "%s%s%s", sentence, *last ? "; rank 0 last told of " : "", last);
	finding_expect(f, began ? "every rank answers until the end" : "every rank joins");
	if (fix)
		finding_fix(f, "%s", fix);
	else
		say_fix_lost(f, sentence, f->host);
	report_add(r, f);
}

static const struct launch_rank *first_unwell(const struct launch_result *l)
{
	for (size_t i = 0; i < l->nranks; i++)
		if (l->ranks[i].cause)
			return &l->ranks[i];
	return NULL;
}

/* A rank that waits for others gives up by its own clock: its sentence may differ in the time. */
static bool is_about_missing(const char *s)
{
	return starts_with(s, "rank") && strstr(s, " missing: ");
}

/* Rank 0's own failure, and not what it was told, or that we ended it. */
static bool is_own(const struct err *e, const struct launch_result *l)
{
	const char *told = l->failure ? reason_essence(l->failure) : "";

	return !starts_with(e->msg, "interrupted") && !streq(e->msg, told) &&
	       !(is_about_missing(e->msg) && is_about_missing(told));
}

static int no_report(const struct launch_result *l, int code, struct err *e)
{
	const struct launch_rank *unwell = first_unwell(l);

	return err_set(e, code == 4 ? ERR_ABSENT : ERR_SYS, "rank %td ended with %s",
		       unwell ? unwell - l->ranks : 0,
		       unwell ? unwell->cause : "no report that can be read");
}

/* Only our own launcher knows by itself who is missing; behind an mpirun rank 0 has to say it. */
static const char *missing(const struct launch_result *l, const struct err *e, struct arena *a)
{
	bool is_one = e->kind == ERR_SYS && starts_with(e->msg, "rank") && !l->nranks;

	return is_one ? arena_strdup(a, e->msg) : l->failure;
}

/* Rank 0's report and how all ended, brought together. */
static int join_reports(struct report *r, const struct launch_opts *o, struct launch_result *l,
			const char *command, struct hear *h, struct err *e)
{
	int code0 = l->nranks ? l->ranks[0].status : l->code;
	struct err unread = {0};
	cJSON *doc = h->n ? envelope_read("rank 0", command, h->text, h->n, &unread) : NULL;
	/* with --strict its warnings are its exit code, as they will be ours */
	bool judged = doc && code0 == 1 && streq(json_text(doc, "verdict"), "fail");
	int result = 0;

	say_hosts(r, l);
	ask_both_ends(r, json_get(doc, "findings"), o);
	if (doc)
		result = take_report(r, doc, code0, h, l, e);
	cJSON_Delete(doc);
	if (interrupt_pending())
		return -1;
	l->failure = missing(l, e, report_arena(r));
	if (result && is_own(e, l))
		return result;
	if (!report_count(r, ST_FAIL) && launch_unable(l, e))
		return -1;
	if (!report_count(r, ST_FAIL) && l->failure && !is_known(l))
		say_failure(r, l, h);
	if (report_count(r, ST_FAIL)) { /* how rank 0 was ended then is no error */
		*e = (struct err){0};
		return 0;
	}
	if (result || (doc && (!l->code || judged)))
		return result;
	if (h->is_too_large)
		return err_set(e, ERR_SYS, "rank 0's report is too large to be read");
	return no_report(l, code0, e);
}

/* --- who starts them ------------------------------------------------------------------ */

struct ending {
	const struct launch_opts *o;
	const char *command;
	struct hear hear;
	struct report *r;
	struct err *e;
	int result;
};

static int conclude(struct ending *x, struct launch_result l)
{
	struct hear *h = &x->hear;

	hear_stop(h);
	if (*h->lost)
		l.failure = h->lost;
	if (!h->error.kind)
		return join_reports(x->r, x->o, &l, x->command, h, x->e);
	*x->e = h->error;
	return -1;
}

/* While those who joined are still there to be told. */
static int on_over(const struct launch_result *got, void *arg)
{
	struct ending *x = arg;

	x->result = conclude(x, *got);
	return report_code(x->r, x->e);
}

static int run_ranks(const struct launch_opts *o, struct ending *x, struct err *e)
{
	struct launch_opts l = *o;
	struct launch_result ignored;

	l.out_fd = x->hear.out[1];
	l.err_fd = x->hear.err[1];
	l.raw = true;
	l.judge = on_over;
	l.judge_arg = x;
	return launch_run(&l, report_arena(x->r), &ignored, e) ? -1 : x->result;
}

/* What mpirun knows of its ranks is how it ended itself. */
static int run_mpirun(const char *const *argv, struct ending *x, struct err *e)
{
	struct mpirun_child m = {.heeded = true, .ending = &x->hear.ending};
	struct launch_result l = {0};
	int status;

	if (mpirun_child_start(&m, argv, x->hear.out[1], x->hear.err[1], e))
		return -1;
	status = mpirun_child_end(&m, &x->hear.over);
	l.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	l.failure = mpirun_failure(status, report_arena(x->r));
	return conclude(x, l);
}

int train_launch(const struct launch_opts *o, const char *backend, const char *command,
		 struct report *r, struct err *e)
{
	struct ending x = {.o = o, .command = command, .r = r, .e = e};
	const char *const *mpirun = NULL;
	int result;

	if (starts_with(backend, "mpi") && mpirun_plan(backend, o, report_arena(r), &mpirun, e))
		return -1;
	if (hear_start(&x.hear, e))
		return -1;
	result = mpirun ? run_mpirun(mpirun, &x, e) : run_ranks(o, &x, e);
	hear_done(&x.hear);
	return result;
}
