#include "bench/sweep/verdict.h"

#include "bench/comm/backend.h"
#include "bench/ranks/reason.h"
#include "bench/sweep/table.h"
#include "lib/cluster/rendezvous.h"
#include "lib/cluster/typed_way.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/host/nccl_words.h"
#include "lib/report/json.h"

#include <ctype.h>
#include <signal.h>

void verdict_add(struct report *r, struct finding *f)
{
	char word[8] = "";

	report_fit(r, f);
	for (size_t i = 0; status_name(f->status)[i] && i < sizeof(word) - 1; i++)
		word[i] = (char)toupper((unsigned char)status_name(f->status)[i]);
	table_note(r, "%s %s: %s", word, f->check, f->message);
	f->answered = true;
	report_add(r, f);
}

/* " (uint8 min)"; "": none was. */
static const char *which_wrong(const struct story *s)
{
	const struct coll_case *c = &s->wrong;

	if (!c->coll)
		return "";
	return arena_printf(s->a, " (%s%s%s%s)", s->totals.bad > 1 ? "first " : "",
			    dtype_name(c->type), c->coll->reduces ? " " : "",
			    c->coll->reduces ? redop_name(c->op) : "");
}

static void judge_data(const struct story *s)
{
	struct finding *f = report_find(s->r, "coll.data", s->sweep.coll->name);
	const struct sweep_totals *sum = &s->totals;
	const char *when = burnin_wrong(s);
	size_t results = (size_t)sum->checked;

	if (!s->sweep.check)
		finding_set(f, ST_SKIP, "no result was verified (-c 0)");
	else if (sum->bad)
		finding_set(f, ST_FAIL, "%zu of %zu results had wrong elements%s%s%s",
			    (size_t)sum->bad, results, which_wrong(s), when ? ": " : "",
			    when ?: "");
	else
		finding_set(f, ST_PASS, "%zu result%s verified, none wrong", results,
			    results == 1 ? "" : "s");
	if (s->wrong.coll)
		again_case(f, &s->o->again, &s->wrong,
			   story_hosts(s) > 1 ? "then on fewer hosts, to find the one" : NULL);
	finding_expect(f, "no wrong element");
	verdict_add(s->r, f);
}

/* Where a rank could not, that was said. */
static void judge_graph(const struct story *s)
{
	const char *coll = s->sweep.coll->name;
	struct finding *f;

	for (size_t i = 0; i < s->findings.n; i++)
		if (streq(s->findings.v[i]->check, "coll.graph"))
			return;
	f = report_find(s->r, "coll.graph", coll);
	finding_set(f, ST_PASS,
		    "the iterations of each size were one CUDA graph, launched %zu times",
		    (size_t)s->sweep.graph);
	verdict_add(s->r, f);
}

/* Sizes that leave no element for a rank: what is asked for comes back at once. */
static void judge_empty(const struct story *s)
{
	struct finding *f = report_find(s->r, "coll.data", s->sweep.coll->name);

	finding_set(f, ST_ERROR, "all messages were empty: nothing was carried or compared");
	finding_expect(f, "an element for each rank, at least");
	again_sizes(f, &s->o->again, "-b 1M -e 64M", NULL);
	verdict_add(s->r, f);
}

/* Of pairs not every rank need have been in one. */
static size_t measured_ranks(const struct story *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->rails.n; i++)
		n += s->rails.v[i].ranks.n;
	return n ?: s->units.n ?: s->ranks.n;
}

static void say_covers(const struct story *s)
{
	size_t hosts = story_hosts(s), n = measured_ranks(s);
	const char *of = n < s->ranks.n ? arena_printf(s->a, "%zu of ", n) : "";
	const char *in = s->groups.g.n ? arena_printf(s->a, " in %d group%s", s->groups.g.n,
						      s->groups.g.n == 1 ? "" : "s")
				       : "";
	const char *over = backend_word(s->backend);
	bool is_nccl = streq(s->backend, "nccl");

	if (hosts > 1)
		report_covers(s->r, "%s%zu ranks on %zu hosts%s, %s over %s%s", of, s->ranks.n,
			      hosts, in, s->device, over, is_nccl ? "" : "; NCCL was not measured");
	else
		report_covers(s->r, "%zu local rank%s%s, %s over %s; %s was measured", s->ranks.n,
			      s->ranks.n == 1 ? "" : "s", in, s->device, over,
			      is_nccl ? "no network" : "neither NCCL nor a network");
}

/* Its agent knows better than its peers how it died; how a silent one was ended says nothing. */
static const char *how_lost(const struct story *s)
{
	const char *died = strstr(s->lost_message, " died: ");
	size_t rank = (size_t)s->lost;

	if (!died || rank >= s->blame.causes.n || !s->blame.causes.v[rank])
		return s->lost_message;
	return arena_printf(s->a, "%.*s died: %s", (int)(died - s->lost_message), s->lost_message,
			    s->blame.causes.v[rank]);
}

/* What the files of this run are to say of its end, too. */
static const char *ended_by(const struct story *s)
{
	struct err e = {0};
	const char *told = NULL;

	if (interrupt_err(&e))
		return arena_strdup(s->a, e.msg);
	if (s->lost >= 0)
		return burnin_lost(s, how_lost(s));
	if (s->error.kind)
		return arena_strdup(s->a, s->error.msg);
	if (s->failure)
		(void)reason_check(s->a, s->failure, &told);
	return told ?: s->host_trouble.n ? s->host_trouble.v[0] : NULL;
}

/* Who is missing, in the words of who knows best. */
static void judge_ranks(const struct story *s)
{
	const char *told;

	for (size_t i = 0; i < s->host_trouble.n; i++) {
		struct finding *f = report_find(s->r, "host.reach", s->host_names.v[i]);

		finding_set(f, ST_FAIL, "%s", s->host_trouble.v[i]);
		finding_expect(f, "ranks can be started there");
		finding_fix(f, "%s", s->host_fixes.v[i]);
		verdict_add(s->r, f);
	}
	/* a rank that gave up because of what is a finding already */
	if (s->lost >= 0 && s->error.kind && s->failed_check &&
	    strstr(s->lost_message, s->error.msg))
		return;
	if (s->lost >= 0) {
		verdict_lost(s->r, s, s->lost, burnin_lost(s, how_lost(s)), NULL);
	} else if (s->failure && !s->host_trouble.n && !s->error.kind) {
		(void)reason_check(s->a, s->failure, &told);
		verdict_lost(s->r, s, -1, told, s->failure_fix ?: reason_carried(s->a, s->failure));
	}
}

static bool is_sick_gpu(const struct finding *f) { return streq(f->check, DEV_SICK); }

/* The failure is of one rank, for which the others only waited: "rank 1 (node1): ..."; who waited
 * in vain itself is none. */
static void name_one(struct finding *f, const struct story *s)
{
	bool is_own =
		strstr(f->message, NCCL_SAYS) || is_sick_gpu(f) || streq(f->check, DEV_WATCHED);

	if (!is_own || s->broke.ranks != 1 || s->broke.of < 2 || !s->broke.host ||
	    starts_with(f->message, "rank "))
		return;
	f->host = s->broke.host;
	f->rank = s->broke.first;
	finding_set(f, f->status, "rank %d (%s): %s", f->rank, f->host, f->message);
}

/* Of another rank's failure only the sentence was heard: the rest that rank says itself. */
static void advise(struct finding *f, const struct story *s, const struct err *e)
{
	bool is_nccl = s->backend && streq(s->backend, "nccl");
	const char *known = reason_fix(f->check, f->message);

	if (*e->hint)
		finding_fix(f, "%s", err_fix(e, f->a));
	else if (known)
		finding_fix(f, "%s%s", known,
			    is_sick_gpu(f) ? verdict_on_host(s->r, NULL, f->message) : "");
	else if (starts_with(f->message, "rank "))
		finding_fix(f, "%s", is_nccl ? NCCL_ASK : "- look at what that rank says itself");
}

void verdict_failure(struct report *r, const struct story *s, const char *check,
		     const struct err *e)
{
	struct finding *f;

	if (streq(check, VERDICT_ALIVE)) {
		verdict_lost(r, s, -1, e->msg, err_fix(e, report_arena(r)));
		return;
	}
	f = report_find(r, check, s->backend ? s->backend : "ranks");
	finding_set(f, ST_FAIL, "%s", e->msg);
	finding_expect(f, "the ranks work together until the end");
	advise(f, s, e);
	name_one(f, s);
	verdict_add(r, f);
}

static void judge_failure(struct story *s)
{
	/* that others are missing, who was lost explains */
	if (s->lost < 0 || !streq(s->failed_check, VERDICT_ALIVE))
		verdict_failure(s->r, s, s->failed_check, &s->error);
	s->error = (struct err){0};
}

static void judge_rows(const struct story *s, const struct verdict_opts *o)
{
	judge_data(s);
	if (s->sweep.graph)
		judge_graph(s);
	verdict_bandwidth(s, o);
	verdict_domain(s);
	verdict_average(s);
	if (o->baseline)
		baseline_judge(s, o->baseline, share_or(&o->warn, BASELINE_WARN),
			       share_or(&o->fail, BASELINE_FAIL));
}

/* Is there no row, and nothing known that would be the reason? */
static bool lacks_rows(const struct story *s, const struct err *e)
{
	return s->has_table && s->lost < 0 && !s->failure && !s->host_trouble.n && !s->error.kind &&
	       e->kind == ERR_NONE && !report_count(s->r, ST_FAIL) && !interrupt_pending();
}

static void say_no_rows(const struct story *s, struct err *e)
{
	const uint64_t within = s->sweep.within_ns;
	struct unit_buf size, time, more;

	if (!s->timed_out) {
		(void)err_set(e, ERR_SYS,
			      "the ranks ended well, but no row of the table came from them: "
			      "nothing was measured");
		return;
	}
	(void)err_set(e, ERR_SYS, "the first size, %s, has no room within %s: nothing was measured",
		      format_size(&size, s->sweep.min), format_duration(&time, within));
	(void)err_hint(e, "--within %s, or smaller sizes (-b 8), or fewer iterations (-n, -w)",
		       format_duration(&more, 10 * within));
}

int story_verdict(struct story *s, const struct verdict_opts *o, struct err *e)
{
	burnin_end(s);
	s->ended_by = ended_by(s);
	if (s->has_table)
		table_end(s);
	if (!interrupt_pending())
		judge_ranks(s);
	if (s->error.kind && s->failed_check && !interrupt_pending())
		judge_failure(s);
	if (s->totals.carried)
		judge_rows(s, o);
	else if (s->totals.rows)
		judge_empty(s);
	else if (lacks_rows(s, e))
		say_no_rows(s, &s->error);
	burnin_verdict(s);
	verdict_groups(s, o);
	verdict_straggler(s);
	verdict_resent(s);
	verdict_pairs(s, o);
	replay_verdict(s);
	for (size_t i = 0; i < s->findings.n; i++)
		verdict_add(s->r, s->findings.v[i]);
	for (size_t i = 0; i < s->counters.n; i++)
		counters_judge(&s->counters.v[i].before, &s->counters.v[i].after,
			       s->counters.v[i].host, s->r, verdict_add);
	if (s->begun)
		say_covers(s);
	if (s->error.kind && e->kind == ERR_NONE)
		*e = s->error;
	return s->error.kind || (s->totals.rows && verdict_files(s, o, e)) ? -1 : 0;
}
