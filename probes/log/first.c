/* Who failed first, as far as a log shows it: by its own lines, or as torchrun saw it. */
#include "probes/log/explain.h"

enum { FIRST = 4 /* what broke first, among causes that weigh about the same */ };

bool explain_is_real(const struct cause *c)
{
	if (c->weight <= 0) /* a comparison ruled it out */
		return false;
	return c->sig->tier == TIER_ROOT || c->sig->tier == TIER_EFFECT ||
	       (c->sig->tier == TIER_GENERIC && c->weight >= CONFIDENT);
}

static bool comes_first(const struct cause *a, const struct cause *b)
{
	return event_shares_line(a->first, b->first) ? a->weight > b->weight
						     : event_before(a->first, b->first);
}

/* The earliest of what is no wrapper and no hint. */
static struct cause *earliest(struct explanation *x)
{
	struct cause *best = NULL;

	for (size_t i = 0; i < x->causes.n; i++) {
		struct cause *c = &x->causes.v[i];

		if (c->first && !c->is_over && explain_is_real(c) &&
		    (!best || comes_first(c, best)))
			best = c;
	}
	return best;
}

/* Another file's failure may be as early: where a rank has a file of its own they are read in an
 * order of ours, and torchrun's times are whole seconds. */
static bool is_tied(const struct explanation *x, const struct log_event *e)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		const struct cause *c = &x->causes.v[i];

		for (size_t k = 0; !c->is_over && explain_is_real(c) && k < c->record->events.n;
		     k++) {
			const struct log_event *o = &c->record->events.v[k];

			if (o->file != e->file &&
			    (!e->clock || o->clock != e->clock || o->time_ms == e->time_ms))
				return true;
		}
	}
	return false;
}

/* It is known whose it is, and that it was the first. */
static bool is_placed(const struct explanation *x, const struct log_event *e)
{
	bool is_known = e->who.rank >= 0 || e->who.attempts || *e->who.host;

	return is_known && !(e->who.by_path && is_tied(x, e));
}

void first_favour(struct why *w, struct arena *a, struct explanation *x)
{
	const struct log_event *quit = quits_first(w, a);
	bool has_elastic = !quit && w->elastic.is_there && w->elastic.who.rank >= 0;
	struct cause *c = earliest(x);

	if (c)
		c->weight += FIRST;
	for (size_t i = 0; has_elastic && i < x->causes.n; i++)
		if (x->causes.v[i].first && explain_is_real(&x->causes.v[i]) &&
		    x->causes.v[i].first->who.rank == w->elastic.who.rank)
			x->causes.v[i].weight += FIRST;
	if (quit && *quit->who.host) {
		x->has_first = true;
		x->first = quit->who;
		x->first_how = "torchrun's first attempt ended there";
	} else if (has_elastic) {
		x->has_first = true;
		x->first = w->elastic.who;
		x->first_how = "torchrun saw it fail first";
	} else if (c && !streq(c->sig->id, "SLM-003") && /* it is told by those that live */
		   is_placed(x, c->first)) {
		x->has_first = true;
		x->first = c->first->who;
		x->first_how = "the earliest failure in the log";
	}
}

/* Does @c speak of that rank, or of everyone? */
static bool covers(const struct cause *c, const struct log_who *who)
{
	const struct log_who *its = c->first ? &c->first->who : NULL;

	for (size_t i = 0; i < c->record->nranks; i++)
		if (c->record->ranks[i] == who->rank)
			return true;
	if (!its)
		return !c->record->nranks;
	if (its->rank >= 0 && who->rank >= 0)
		return its->rank == who->rank;
	return !*its->host || !*who->host || streq(its->host, who->host);
}

static bool is_consequence(const struct explanation *x)
{
	for (size_t i = 1; i < x->causes.n; i++) {
		const struct cause *c = &x->causes.v[i];

		if (c->first && covers(c, &x->first) && (c->is_echo || c->sig->tier != TIER_ROOT))
			return true;
	}
	return false;
}

/* Two names in one answer want a word between them. */
void first_agree(struct arena *a, struct explanation *x)
{
	const struct cause *c = x->causes.n ? &x->causes.v[0] : NULL;
	const char *who;

	if (!c || !x->has_first || c->weight < CONFIDENT || covers(c, &x->first))
		return;
	if (!c->first) {
		x->first_how =
			arena_printf(a, "%s; the dumps show for whom it waited", x->first_how);
		return;
	}
	who = who_text(a, &c->first->who);
	x->first_how =
		is_consequence(x)
			? arena_printf(a, "%s; that was a consequence: what %s met explains it",
				       x->first_how, who)
			: arena_printf(a, "%s; the likelier reason is what %s met", x->first_how,
				       who);
}
