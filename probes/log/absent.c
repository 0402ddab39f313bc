/* What ended a job from outside is no reason: why it did not progress is. Above all, who never
 * came. */
#include "probes/log/explain.h"

enum {
	SURE = 72,     /* all announce themselves, and most did not */
	LIKELY = 64,   /* the nodes never found each other */
	ALONE = 40,    /* it may still be starting */
	PARTIAL = 46,  /* it may be the log of one node */
	ONE_RANK = 27, /* ... or of one rank, which mostly is an excerpt */
	SILENT = 58,   /* nothing was heard until it was ended */
	FAINT = 46,
	NO_SUCH = 86, /* a number that is not in the world, or that two hosts have */
	SHARED = 76,  /* one number said by two, as the order of the lines shows */
	EACH_ALONE = 74,
	WAITED = 70, /* it said so until it was ended */
	ECHO = 44,   /* with what the earliest gets it is still no answer */
};

static bool any_of(struct explanation *x, const char *const *ids)
{
	for (size_t i = 0; ids[i]; i++)
		if (explain_find(x, ids[i]))
			return true;
	return false;
}

/* Somebody, or a clock, lost patience. */
static bool was_ended(const struct why *w, struct explanation *x)
{
	static const char *const ids[] = {"SLM-001", "SLM-006", "PT-006", "PT-007",
					  "PT-008",  "PT-012",	"PT-013", "PT-023",
					  "PT-024",  "PT-099",	NULL};

	return why_was_interrupted(w) || any_of(x, ids);
}

/* The members of a world announce themselves; who does not was not started, unless something
 * else says why. */
static void members(struct why *w, struct arena *a, struct explanation *x, bool ended)
{
	static const char *const who[MUSTER_KINDS] = {"members", "processes", "nodes", "nodes"};
	struct cause *c = explain_find(x, "HNG-003");

	for (size_t k = 0; c && k < MUSTER_KINDS; k++) {
		const struct muster *m = &w->muster[k];
		bool may_be_all = k == PROCESSES || k == LAUNCHERS || muster_is_one_node(m);
		bool are_all = m->total == w->store_total && m->present == w->store_came;

		if (!muster_lacks(m))
			continue;
		explain_suspect(c,
				!ended	      ? ALONE
				: are_all     ? SURE
				: may_be_all  ? PARTIAL
				: k == AGENTS ? LIKELY
					      : SURE,
				arena_printf(a, "%ld of %ld %s announced themselves in this log%s",
					     m->present, m->total, who[k],
					     are_all ? ", and the store counted no more" : ""));
	}
}

/* Slurm shows what all its tasks say: who came to the store is all that there is. */
static void few_tasks(struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const of_slurm[] = {"SLM-001", "SLM-004", "SLM-006", NULL};
	struct cause *c = explain_find(x, "PT-012");
	const struct log_event *e = c ? c->first : NULL;

	if (!c || c->is_over || explain_find(x, "HNG-003") || !any_of(x, of_slurm) ||
	    w->store_came >= w->store_total || c->record->nranks != (size_t)w->store_came)
		return;
	c = explain_add(w, a, x, "HNG-003");
	explain_raise(
		c, SURE,
		arena_printf(a,
			     "the store counted %ld of %ld ranks, and no others speak in this log",
			     w->store_came, w->store_total));
	c->first = e;
}

/* The line in which a member announced itself. */
static const struct log_event *announcement(const struct why *w)
{
	const struct record *r = &w->records[signature_find("HNG-003")];

	for (size_t i = 0; i < r->events.n; i++)
		if (strstr(r->events.v[i].text, "MEMBER: "))
			return &r->events.v[i];
	return NULL;
}

/* Numbers of members that cannot be right. */
static void numbers(struct why *w, struct arena *a, struct explanation *x)
{
	const struct roster *r = &w->roster;
	enum roster_twice twice = roster_judge(r);
	struct cause *c;

	if (w->healthy || w->muster[MEMBERS].is_complete || (!r->beyond_of && !twice))
		return;
	c = explain_add(w, a, x, r->beyond_of ? "CON-028" : "CON-014");
	if (r->beyond_of)
		explain_raise(c, NO_SUCH,
			      arena_printf(a, "rank %ld announced itself in a world of %ld",
					   r->beyond, r->beyond_of));
	else
		explain_raise(c, twice == ROSTER_TWICE ? NO_SUCH : SHARED,
			      arena_printf(a,
					   "%u processes of a world of %ld announced themselves, "
					   "with %u numbers",
					   r->lines, r->total, r->present));
	c->first = c->first ? c->first : announcement(w);
}

/* NCCL's ranks say that they begin; in the log of one node only those of it do. */
static void ranks(struct why *w, struct arena *a, struct explanation *x, bool ended)
{
	struct cause *c = explain_find(x, "HNG-001");
	struct muster m = {0};
	long nranks = 0;

	for (size_t i = 0; i < w->actors.v.n; i++)
		if (w->actors.v.v[i].nranks > nranks)
			nranks = w->actors.v.v[i].nranks;
	for (size_t i = 0; i < w->actors.v.n; i++)
		if (w->actors.v.v[i].nranks == nranks)
			muster_note(&m, w->actors.v.v[i].who.rank, nranks);
	if (nranks > MUSTER_MAX || !muster_lacks(&m) || !c)
		return;
	if (m.present == 1 && !ended) {
		c->weight = ONE_RANK;
		c->because = "the log has one rank alone";
	} else {
		explain_suspect(
			c, PARTIAL,
			arena_printf(a, "%ld of %ld ranks began, in this log", m.present, m.total));
	}
}

/* A time limit comes last; what was found before it is the reason. */
static void clock_ran_out(struct why *w, struct explanation *x)
{
	struct cause *limit = explain_find(x, "SLM-001");

	for (size_t i = 0; limit && limit->first && i < x->causes.n; i++) {
		const struct cause *c = &x->causes.v[i];

		if (c->is_over || c->weight < CONFIDENT || starts_with(c->sig->id, "SLM-") ||
		    !c->first || c->sig->tier == TIER_GENERIC || c->sig->tier == TIER_WRAPPER ||
		    event_before(limit->first, c->first) ||
		    (c->sig->tier == TIER_EFFECT && why_has_worked(w)))
			continue;
		limit->is_echo = true;
		limit->weight = ECHO;
		limit->because = "the time ran out because the job did not go on";
		return;
	}
}

/* A task that had ended with an error: the others waited for it until their time was over. */
static void a_task_was_gone(const struct why *w, struct explanation *x)
{
	struct cause *limit = explain_find(x, "SLM-001"), *c = explain_find(x, "SLM-004");

	if (!limit || !limit->first || limit->is_echo || !c || !c->first || c->is_over ||
	    why_has_worked(w) || !strstr(c->first->text, "Exited with exit code") ||
	    event_before(limit->first, c->first))
		return;
	explain_raise(c, limit->weight,
		      "that task had ended with an error, and the others waited for it until their "
		      "time was over");
	limit->is_echo = true;
	limit->weight = ECHO;
	limit->because = "a task had ended with an error before";
}

/* It was the last, or nearly the last, that was said before @end. */
static bool is_last_before(const struct cause *c, const struct cause *end)
{
	enum { NEAR = 24 /* lines: of those who end it, and of other ranks */ };
	uint64_t last = c->record->last_line;

	return end && end->first && c->record->last_file == end->first->file &&
	       last < end->first->line && end->first->line - last <= NEAR;
}

/* What still waited when it was ended says more than who ended it. */
static void waited(struct explanation *x)
{
	static const char *const waits[] = {"RAY-017", "SLM-014", "SLM-039", "K8S-025", NULL};
	static const char *const ends[] = {"SLM-001", "SLM-006", NULL};

	for (size_t i = 0; waits[i]; i++) {
		struct cause *c = explain_find(x, waits[i]);

		for (size_t j = 0; c && c->first && !c->is_over && ends[j]; j++) {
			struct cause *end = explain_find(x, ends[j]);

			if (!is_last_before(c, end))
				continue;
			explain_suspect(c, WAITED, "it still waited when the job was ended");
			end->is_echo = true;
			end->weight = ECHO;
			end->because = "it was ended while it waited";
		}
	}
}

/* srun said again and again that it waits for other steps, and nothing else since. */
static void still_waits(const struct why *w, struct explanation *x)
{
	enum { NEAR = 2 /* lines */, TIMES = 3 };
	struct cause *c = explain_find(x, "SLM-014");

	if (c && !c->is_over && c->record->count >= TIMES &&
	    w->progress.v[c->record->last_file].lines <= c->record->last_line + NEAR)
		explain_suspect(c, SILENT, "the log ends while it waits");
}

/* Each process of a benchmark is a world of its own; several runs in a log are not. */
static void worlds(struct why *w, struct arena *a, struct explanation *x)
{
	enum worlds_are are = worlds_judge(&w->worlds);
	struct cause *c = explain_find(x, "MPI-001");

	if (are == WORLDS_MANY && !c)
		explain_suspect(
			explain_add(w, a, x, "MPI-001"), EACH_ALONE,
			w->worlds.most_headers > 1
				? "the header was printed again before any rank was: one "
				  "world prints it once"
				: arena_printf(a, "one command for %ld processes gave %u results",
					       w->worlds.asked, w->worlds.results));
	else if (c && are != WORLDS_MANY)
		c->weight = are == WORLDS_UNSURE ? ALONE : 0;
}

/* The coordinator knows who did not come. */
static void late_tasks(struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "JAX-001");
	const char *late = tasks_text(&w->tasks, a);

	if (c && late && !c->because)
		c->because =
			arena_printf(a,
				     "%s of the job did not come: look at their logs, and whether "
				     "they were started, or came late",
				     late);
}

/* The log ends where the store was reached, and says nothing else. */
static void reached_store(const struct why *w, struct explanation *x, bool is_explained)
{
	enum { NEAR = 2 /* lines */ };
	struct cause *c = explain_find(x, "HNG-005");

	if (!c)
		return;
	c->weight = !is_explained && w->progress.v[c->record->last_file].lines <=
					     c->record->last_line + NEAR
			    ? FAINT
			    : 0;
}

/* The ranks of an engine meet a second time, over messages of its own. The log ends there. */
static void engine_waits(const struct why *w, struct explanation *x)
{
	enum { NEAR = 12 /* lines: of other ranks, and what somebody typed then */ };
	struct cause *c = explain_find(x, "HNG-007");

	if (!c)
		return;
	c->weight = !explain_has_reason(x) && !why_has_worked(w) &&
				    w->progress.v[c->record->last_file].lines <=
					    c->record->last_line + NEAR
			    ? FAINT
			    : 0;
}

/* Horovod says whom the others wait for, and the job ends soon: by that, unless it trained on. What
 * a rank had printed before may come late. */
static void stall(const struct why *w, struct arena *a, struct explanation *x)
{
	enum { STALLED = 58, SHUT_DOWN = 74, LATE = 24 /* lines of progress */ };
	struct cause *c = explain_find(x, "HVD-001");
	const struct cause *end = explain_find(x, "HVD-002");

	if (c && c->is_over && !end)
		c->weight = 0; /* they came, and all trained on */
	if (!c || !end || w->stalled < 0 || c->is_settled || end->is_over ||
	    !explain_says(end, "shut") || event_before(end->first, c->first) ||
	    end->record->last_progress > c->record->last_progress + LATE)
		return;
	c->is_over = false;
	explain_raise(c, explain_says(c, "Will shutdown") ? SHUT_DOWN : STALLED,
		      arena_printf(a, "rank %ld is the first one that is missing", w->stalled));
}

void absent(struct why *w, struct arena *a, struct explanation *x)
{
	bool ended = was_ended(w, x);
	bool is_explained;

	numbers(w, a, x);
	twins(w, a, x);
	late_tasks(w, a, x);
	is_explained = explain_has_reason(x) || w->healthy || why_has_worked(w);
	reached_store(w, x, is_explained);
	engine_waits(w, x);
	worlds(w, a, x);
	locals(w, a, x, is_explained);
	if (!is_explained) {
		members(w, a, x, ended);
		few_tasks(w, a, x);
		ranks(w, a, x, ended);
		waited(x);
		still_waits(w, x);
		explain_suspect(explain_find(x, "K8S-012"), ended ? SILENT : FAINT,
				"nothing was heard of the job after it began to connect");
		if (ended && !w->muster[AGENTS].is_complete)
			explain_suspect(explain_find(x, "HNG-004"), SILENT,
					"nobody said that the others came");
	}
	clock_ran_out(w, x);
	a_task_was_gone(w, x);
	stall(w, a, x);
}
