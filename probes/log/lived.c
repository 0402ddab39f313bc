/* What a clock, or a server's answer, shows to have hurt nobody but itself. */
#include "probes/log/explain.h"

#include "probes/log/heal.h"

enum { WENT_ON = 3, LATER_MS = 10 * 60 * 1000 /* no collective's timeout: steps were made */ };

/* When the last step was made that this source counted; false: it does not say. */
static bool last_step(const struct log_progress *p, struct log_line *ret)
{
	if (p->steps < WENT_ON || !*p->step)
		return false;
	line_clean(p->step, strlen(p->step), ret);
	line_place(ret);
	return ret->clock == CLOCK_KIND_DATE || ret->clock == CLOCK_KIND_WORLD;
}

static bool is_long_before(const struct record *r, const struct log_line *step)
{
	for (size_t i = 0; i < r->events.n; i++)
		if (r->events.v[i].clock != step->clock ||
		    step->time_ms - r->events.v[i].time_ms < LATER_MS)
			return false;
	return r->events.n && r->events.n == r->count;
}

/* The kernel tells of any process that crashed: by the clock the job trained on long after it. */
static bool is_of_another(const struct why *w, const struct cause *c)
{
	static const char *const crashes[] = {"KRN-006", "KRN-022", NULL};
	struct log_line step = {.who.rank = -1, .who.local = -1};

	if (!explain_is_one_of(c, crashes))
		return false;
	for (size_t i = 0; i < w->progress.n; i++)
		if (last_step(&w->progress.v[i], &step) && is_long_before(c->record, &step))
			return true;
	return false;
}

/* The driver stopped a program, once, and what the log is of made its steps and came to its end
 * behind that. */
static bool is_program_of_old(const struct why *w, const struct cause *c)
{
	const struct record *r = c->record;
	const struct log_progress *p = &w->progress.v[r->last_file];

	return streq(c->sig->id, "XID-013") && r->count == 1 && !p->ending.is_failed &&
	       p->steps - r->last_progress >= WENT_ON &&
	       (p->finish > r->last_line || p->ending.well > r->last_line);
}

void lived(const struct why *w, struct explanation *x)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		struct cause *c = &x->causes.v[i];
		bool is_answered = streq(c->sig->id, "APP-001") && heal_is_whole(c->record);

		if (!c->first || c->is_over ||
		    !(is_answered || is_of_another(w, c) || is_program_of_old(w, c)))
			continue;
		c->is_over = true;
		c->because = is_answered ? "the server answered that request so, and went on"
					 : "the job made its steps long after it";
	}
}
