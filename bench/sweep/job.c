#include "bench/sweep/job.h"

#include "bench/ranks/mpirun_child.h"
#include "bench/ranks/reason.h"
#include "bench/sweep/crew.h"
#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/report/json.h"

struct reporting {
	const struct job_opts *o;
	struct story story;
	struct report *r;
	struct err *e;
	bool is_judged;
	int result;
};

static void hear_crew(const cJSON *event, void *arg)
{
	struct reporting *x = arg;

	story_event(event, &x->story);
}

static int judge_crew(void *arg)
{
	struct reporting *x = arg;

	log_progress_end();
	x->is_judged = true;
	x->result = story_verdict(&x->story, &x->o->verdict, x->e);
	return report_code(x->r, x->e);
}

static int report_crew(const struct job_opts *o, struct report *r, struct err *e)
{
	struct reporting x = {.o = o, .r = r, .e = e};
	const struct crew_opts crew = {.launch = o->launch,
				       .mpirun = o->mpirun,
				       .event = hear_crew,
				       .judge = judge_crew,
				       .arg = &x};
	int result;

	story_init(&x.story, &o->story, r);
	result = crew_run(&crew, e);
	if (!x.is_judged)
		(void)judge_crew(&x);
	return x.result || result ? -1 : 0;
}

/* What the others are to call it, too; of a rank that was lost they have the name themselves. */
static const char *own_check(const struct rank_end *end)
{
	return end->lost < 0 && end->check && !streq(end->check, VERDICT_ALIVE) ? end->check : NULL;
}

static int be_rank(const struct job_opts *o, struct world_run *w, struct report *r, struct err *e)
{
	bool ours = o->ours;
	bool reports = !ours && w->world.rank == 0;
	struct story story;
	struct relay relay = {.fd = ours ? STDOUT_FILENO : -1,
			      .direct = reports ? story_event : NULL,
			      .arg = &story};
	struct rank_end end;
	struct err why;
	int result;

	story_init(&story, &o->story, r);
	result = rank_run(&o->rank, w, &relay, report_arena(r), &end, e);
	log_progress_end();
	why = *e;
	(void)interrupt_err(&why); /* not what came of it here */
	world_stop(w, (result && !end.all_know) || end.lost >= 0
			      ? reason_make(report_arena(r), own_check(&end), why.msg,
					    err_fix(&why, report_arena(r)))
			      : NULL);
	if (reports && end.check) { /* the story has it, as a finding */
		*e = (struct err){0};
		result = 0;
	}
	if (reports)
		return story_verdict(&story, &o->verdict, e) || result ? -1 : 0;
	report_answer(r, "", 0); /* it is another one's to conclude anything */
	if (ours && interrupt_pending())
		relay_hush(); /* that, too */
	if (ours && (end.lost >= 0 || result)) {
		*e = (struct err){0}; /* told already */
		return 0;
	}
	if (end.lost < 0 && !end.check)
		return result;
	if (end.lost < 0)
		verdict_failure(r, &story, end.check, e);
	else
		verdict_lost(r, &story, end.lost, e->msg, NULL);
	*e = (struct err){0};
	return 0;
}

/* mpirun would wait for the others, which wait for us: whoever started it has to know. */
static int tell_error(const struct world_run *w, struct report *r, struct err *e)
{
	struct relay relay = {.fd = STDOUT_FILENO};
	cJSON *event = relay_error(w->missing ? "broke" : "error", e);

	if (w->missing)
		json_str(event, "check", VERDICT_ALIVE);
	relay_send(&relay, event);
	report_answer(r, "", 0);
	*e = (struct err){0};
	return 0;
}

/* A world that did not come together is a word on the cluster. Whoever is missing somebody else
 * was to start. */
static int say_missing(const struct job_opts *o, struct report *r, struct err *e)
{
	static const char start[] = "- start it there, with the same command line as here";
	const char *fix = strstr(e->msg, " missing: ") ? start : err_fix(e, report_arena(r));
	struct story story;

	story_init(&story, &o->story, r);
	verdict_lost(r, &story, -1, e->msg, fix);
	*e = (struct err){0};
	return 0;
}

int job_run(const struct job_opts *o, struct report *r, struct err *e)
{
	struct world_run w = {0};

	mpirun_shelter(STDOUT_FILENO);
	if (world_start(&o->world, report_arena(r), &w, e)) {
		if (w.missing && !o->ours)
			return say_missing(o, r, e);
		return mpirun_relays() ? tell_error(&w, r, e) : -1;
	}
	return w.rdzv ? be_rank(o, &w, r, e) : report_crew(o, r, e);
}
