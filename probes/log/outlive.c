/* What the job outlived, and what was only noise of its end, explains no failure. */
#include "probes/log/explain.h"

enum {
	WENT_ON = 3,	/* lines of progress after the last time */
	OVER = 45,	/* the most that such a cause may have */
	DOUBT = 6,	/* what it loses where something else failed later */
	NEAR_END = 60,	/* lines */
	UNPROVEN = 44,	/* an error that nothing shows to have ended anything */
	TOO_MANY = 1000 /* the last of these was not noted any more */
};

static bool went_on(const struct why *w, const struct cause *c)
{
	const struct record *r = c->record;

	/* a kernel tells of what hurts even where one job does not notice */
	if (!c->first || r->count >= TOO_MANY || starts_with(c->sig->id, "XID-") ||
	    starts_with(c->sig->id, "KRN-"))
		return false;
	return w->progress.v[r->last_file].steps - r->last_progress >= WENT_ON;
}

/* Connections break and processes grumble when everybody leaves. */
static bool is_farewell(const struct why *w, const struct cause *c)
{
	uint64_t finish = c->first ? w->progress.v[c->first->file].finish : 0;

	return finish && c->first->line > finish &&
	       (c->sig->tier == TIER_WRAPPER ||
		(c->sig->tier == TIER_GENERIC && !c->first->after_traceback));
}

/* An exception counts below a traceback, or where the log ends with it. */
static bool is_proven(const struct why *w, const struct cause *c)
{
	const struct log_progress *p = &w->progress.v[c->first->file];

	if (p->finish > c->first->line)
		return false;
	return c->first->after_traceback ||
	       (p->lines && !p->finish && p->lines - c->record->last_line <= NEAR_END);
}

/* What a program may have caught: nothing, where it came to its end after all. */
static bool was_caught(const struct why *w, const struct cause *c)
{
	static const char *const ids[] = {"DAT-001", "DAT-002", "DAT-006", "HUB-003",
					  "LIB-003", "LIB-011", "PT-058",  NULL};

	for (size_t i = 0; ids[i]; i++)
		if (streq(c->sig->id, ids[i]))
			return w->progress.v[c->first->file].finish > c->first->line;
	return streq(c->sig->id, "APP-001") && !is_proven(w, c);
}

void outlive(struct why *w, struct explanation *x)
{
	bool trouble = false;

	x->in_trouble = false;
	for (size_t i = 0; i < x->causes.n; i++) {
		struct cause *c = &x->causes.v[i];

		c->is_over = went_on(w, c) || is_farewell(w, c);
		if (c->first && was_caught(w, c))
			c->weight = UNPROVEN;
		if (c->is_over || c->sig->tier == TIER_HINT)
			continue;
		trouble |= c->weight >= CONFIDENT || c->sig->tier == TIER_WRAPPER;
		x->in_trouble |= c->sig->tier != TIER_GENERIC;
	}
	for (size_t i = 0; i < x->causes.n; i++) {
		struct cause *c = &x->causes.v[i];

		if (!c->is_over || c->sig->tier == TIER_HINT)
			continue;
		if (trouble && !is_farewell(w, c) && c->sig->tier != TIER_EFFECT)
			c->weight -= DOUBT;
		else if (c->weight > OVER)
			c->weight = OVER;
		if (!trouble)
			c->because = "the job went on after it";
	}
}
