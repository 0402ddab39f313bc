/* Whom a log clears that says of itself that it ended well. What broke before that is a remark:
 * somebody caught it, tried again, or the launcher started the ranks once more. */
#include "probes/log/explain.h"

#include "probes/log/heal.h"
#include "probes/log/said.h"

enum {
	REMARK = 45,	/* the most that such a cause may have */
	TOO_MANY = 1000 /* the last of these was not noted any more */
};

static bool is_real(const struct cause *c)
{
	return c->first && !c->is_over && c->sig->tier != TIER_HINT &&
	       (c->sig->tier == TIER_WRAPPER || c->weight >= CONFIDENT);
}

static bool is_raised(const struct cause *c)
{
	for (size_t i = 0; i < c->record->events.n; i++)
		if (c->record->events.v[i].after_traceback)
			return true;
	return false;
}

/* torch's own checks are exceptions, which a program may catch and print. */
static bool is_torch_check(const struct cause *c)
{
	return strstr(c->first->text, "INTERNAL ASSERT FAILED") != NULL;
}

/* It ended a process, as far as its lines tell. */
static bool is_hard(const struct cause *c)
{
	static const char *const deaths[] = {"SHM-003", "SHM-004", "KRN-006", "APP-002", "APP-003",
					     "APP-004", "PT-006",  "PT-038",  "PT-057",	 NULL};

	for (size_t i = 0; deaths[i]; i++)
		if (streq(c->sig->id, deaths[i]))
			return !is_torch_check(c) || is_raised(c);
	return is_raised(c) || c->sig->tier == TIER_WRAPPER;
}

/* Said by the same rank or host, or by somebody who speaks for all. */
static bool is_of_all(const struct cause *c, const struct log_who *sign)
{
	for (size_t i = 0; i < c->record->nranks; i++)
		if (sign->rank >= 0 && c->record->ranks[i] != sign->rank)
			return false;
	for (size_t i = 0; i < c->record->events.n; i++)
		if (!ending_is_of(sign, &c->record->events.v[i].who))
			return false;
	return true;
}

/* A program that says that it is done, and not which rank: mostly rank 0. */
static bool is_of_another(const struct cause *c, const struct log_who *sign)
{
	for (size_t i = 0; i < c->record->nranks; i++)
		if (sign->rank < 0 && c->record->ranks[i] > 0)
			return true;
	return false;
}

/* All of its lines are in one file, and the last of them is known. */
static bool is_in_one(const struct cause *c)
{
	const struct record *r = c->record;

	for (size_t i = 0; i < r->events.n; i++)
		if (r->events.v[i].file != r->last_file)
			return false;
	return r->events.n && r->count < TOO_MANY;
}

/* The kernel's own words: it tells of what hurts even where one job does not notice. But for a
 * network file system, which tries again by itself. */
static bool is_of_kernel(const struct cause *c)
{
	const struct log_event *e = c->first;

	if (streq(c->sig->id, "KRN-014") || streq(c->sig->id, "KRN-035"))
		return false;
	return starts_with(c->sig->id, "XID-") || e->clock == CLOCK_KIND_UPTIME ||
	       strstr(e->text, "kernel:") || strstr(e->text, "NVRM:");
}

static bool trained_on(const struct why *w, const struct cause *c)
{
	return w->progress.v[c->record->last_file].steps > c->record->last_progress;
}

/* It trained, was started again or came to its end behind it: a new life, or none was lost. Or it
 * had come to its end, and stumbled as it left. */
static bool lived_on(const struct why *w, const struct cause *c)
{
	const struct log_progress *p = &w->progress.v[c->record->last_file];
	uint64_t last = c->record->last_line;

	return trained_on(w, c) || p->ending.again > last || p->finish > last ||
	       (p->finish && p->finish < c->first->line);
}

/* The end that is told clears it. What a program says of itself weighs less than what a launcher
 * says of all; and that a benchmark came to its end does not mend how its ranks were started. */
static bool is_cleared(const struct why *w, const struct cause *c)
{
	const struct log_progress *p = &w->progress.v[c->record->last_file];
	const struct ending *e = &p->ending;
	uint64_t last = c->record->last_line;

	if (!is_in_one(c) || e->is_failed || streq(c->sig->id, "MPI-001"))
		return false;
	if (e->is_of_tests && c->first->line < e->tests)
		return false;
	if (e->well > last && is_of_all(c, &e->who) && (!is_hard(c) || lived_on(w, c)))
		return true;
	if (p->finish <= last || is_of_kernel(c) || !is_of_all(c, &p->finisher))
		return false;
	return trained_on(w, c) ? !is_raised(c) : !is_hard(c) && !is_of_another(c, &p->finisher);
}

/* slurmctld gave the node up, and what ran there was lost. */
static bool is_set_down(const struct cause *c)
{
	return streq(c->sig->id, "SLM-003") && explain_event(c, "setting DOWN");
}

static bool is_healed(const struct cause *c)
{
	const struct record *r = c->record;

	return is_in_one(c) && !is_set_down(c) && !is_hard(c) &&
	       ((!r->is_open && !r->open_ranks) || heal_is_whole(r));
}

/* A name that torch's store could not resolve at first, or the init container of an operator: they
 * ask again until they can. */
static bool is_asked_again(const struct cause *c)
{
	if (!streq(c->sig->id, "PT-002") && !streq(c->sig->id, "K8S-028"))
		return false;
	for (size_t i = 0; i < c->record->events.n; i++)
		if (!strstr(c->record->events.v[i].text, "[c10d] The IPv") &&
		    !strstr(c->record->events.v[i].text, "nslookup: can't resolve") &&
		    !strstr(c->record->events.v[i].text, "** server can't find"))
			return false;
	return c->first != NULL;
}

/* A download that met the network's weather: what was wanted came, or nothing was. A node that was
 * taken away from others. */
static bool is_nothing(const struct cause *c)
{
	static const char *const ids[] = {"K8S-072", "K8S-075", NULL};

	return starts_with(c->sig->id, "HUB-") || explain_is_one_of(c, ids);
}

/* A daemon of Slurm that did not answer one call in time. */
static bool is_passing(const struct cause *c)
{
	static const char *const words[] = {"timed out on send/recv", "Zero Bytes were transmitted",
					    "Communication connection failure",
					    "Unable to contact slurm", NULL};

	if (!streq(c->sig->id, "SLM-007"))
		return false;
	for (size_t i = 0; i < c->record->events.n; i++)
		if (!said_any_anyhow(c->record->events.v[i].text, words))
			return false;
	return true;
}

/* Its end is told: the interruption was no more than that. */
static bool is_interruption(const struct cause *c)
{
	static const char *const ids[] = {"SLM-002", "SLM-004", "SLM-010", NULL};
	size_t n = 0;

	for (size_t i = 0; i < c->record->events.n; i++)
		n += strstr(c->record->events.v[i].text, "DUE TO JOB REQUEUE") ||
		     strstr(c->record->events.v[i].text, "DUE TO PREEMPTION");
	return explain_is_one_of(c, ids) && n == c->record->events.n;
}

static const char *restarted(const struct why *w, struct arena *a, const struct cause *c)
{
	const struct exit_said *e = w->exits.n ? &w->exits.v[0] : NULL;

	if (!e || !w->exits.is_restarted || e->who.local < 0 || e->file != c->record->last_file)
		return "it went on afterwards, and the log says that it ended well";
	return arena_printf(a,
			    "local rank %d%s%s ended with %s %d, the ranks were started again, "
			    "and ended well",
			    e->who.local, *e->who.host ? " of " : "", e->who.host,
			    e->code < 0 ? "signal" : "exit", e->code < 0 ? -e->code : e->code);
}

/* Something in @file that matters is not cleared: then its end clears nothing. */
static bool is_doubtful(const struct why *w, const struct explanation *x, unsigned file)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		const struct cause *c = &x->causes.v[i];

		if (is_real(c) && c->record->last_file == file && !is_cleared(w, c))
			return true;
	}
	return false;
}

void settle(struct why *w, struct arena *a, struct explanation *x)
{
	for (size_t i = 0; i < x->causes.n; i++)
		if ((is_real(&x->causes.v[i]) || x->causes.v[i].is_over) &&
		    is_healed(&x->causes.v[i])) {
			x->causes.v[i].is_over = x->causes.v[i].is_settled = true;
			x->causes.v[i].is_healed = true;
			x->causes.v[i].because = "it was tried again, and that worked";
		} else if (x->causes.v[i].is_over && is_asked_again(&x->causes.v[i])) {
			x->causes.v[i].weight = 0;
		} else if (x->causes.v[i].is_over) {
			x->causes.v[i].is_healed |=
				is_nothing(&x->causes.v[i]) || is_passing(&x->causes.v[i]);
		}
	for (unsigned f = 0; f < w->progress.n; f++) {
		bool doubtful = is_doubtful(w, x, f);

		for (size_t i = 0; !doubtful && i < x->causes.n; i++) {
			struct cause *c = &x->causes.v[i];

			if (c->record->last_file != f || !c->first || c->is_over ||
			    c->sig->tier == TIER_HINT || !is_cleared(w, c))
				continue;
			c->is_over = c->is_settled = true;
			c->is_healed = is_interruption(c) || is_nothing(c) || is_passing(c);
			c->because = restarted(w, a, c);
		}
	}
}

/* Made of a line that is no line of its own, and that is cleared. */
static bool is_made_of_settled(const struct why *w, const struct explanation *x,
			       const struct cause *c)
{
	const struct ending *e = c->first ? &w->progress.v[c->first->file].ending : NULL;

	return e && !x->in_trouble && !c->record->events.n && !e->is_failed &&
	       e->well > c->first->line;
}

void settle_weights(const struct why *w, struct explanation *x)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		struct cause *c = &x->causes.v[i];

		if ((c->is_settled || is_made_of_settled(w, x, c)) && c->weight > REMARK)
			c->weight = REMARK;
	}
}
