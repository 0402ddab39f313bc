/* What ended an earlier run of the job, where the log of the next one tells of it, or goes on in
 * the same file: no cause of what failed later. */
#include "probes/log/explain.h"

#include "probes/log/said.h"

enum { REMARK = 44 };

/* "[restart 3] previous attempt ended: ...": all of its lines say so. */
static bool is_said(const struct cause *c)
{
	static const char *const words[] = {
		"previous attempt", "previous run",    "previous job", "last attempt",
		"last run",	    "earlier attempt", "earlier run",  NULL};

	for (size_t i = 0; i < c->record->events.n; i++)
		if (!said_any_anyhow(c->record->events.v[i].text, words))
			return false;
	return c->first != NULL;
}

/* Something failed at or behind that line of a file. */
static bool failed_behind(const struct explanation *x, unsigned file, uint64_t line)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		const struct cause *o = &x->causes.v[i];

		if (o->sig->tier == TIER_ROOT && !o->is_over && o->weight >= CONFIDENT &&
		    o->first && o->first->file == file && o->first->line >= line)
			return true;
	}
	return false;
}

/* GPUs were set to work behind it, and then something failed. */
static bool is_followed(const struct why *w, const struct explanation *x, const struct cause *c)
{
	const struct record *r = c->record;
	uint64_t begun = w->progress.v[r->last_file].gpu;

	return begun > r->last_line && failed_behind(x, r->last_file, begun);
}

/* What it was about to save then is not whole. */
static void cut_short(struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-035");

	if (c && !c->is_over && !c->because)
		c->because = "an earlier run was ended, perhaps while it saved";
}

void earlier(const struct why *w, struct explanation *x)
{
	static const char *const ends[] = {"SLM-001", "SLM-002", "SLM-006", NULL};

	for (size_t i = 0; i < x->causes.n; i++) {
		struct cause *c = &x->causes.v[i];

		if (!explain_is_one_of(c, ends) || c->is_over || !c->first ||
		    !(is_said(c) || is_followed(w, x, c)))
			continue;
		c->is_over = true;
		c->weight = REMARK;
		c->because = "that ended an earlier run";
		cut_short(x);
	}
}
