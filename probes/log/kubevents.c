/* Events of Kubernetes say how old they are and how often they came (kubetime.h): what was seen
 * last long before another failure that came again and again since was overcome. So was what
 * befell a pod that another one has replaced since (podrow.h). */
#include "lib/core/units.h"
#include "probes/log/explain.h"

enum {
	REMARK = 45, /* the most that such a cause may have */
	OFTEN = 3,
	OLDER = 2 /* times as old */
};

/* How all of the lines of @c are told: the latest of them, and the most frequent. */
static bool happened(const struct why *w, const struct cause *c, struct happening *ret)
{
	const struct record *r = c->record;

	if (c->is_over || !r->events.n || r->count > r->events.n)
		return false;
	for (size_t i = 0; i < r->events.n; i++) {
		const struct log_event *e = &r->events.v[i];
		struct happening one;

		if (!happening_of(&w->kubetimes, e->file, e->line, e->text, &one))
			return false;
		if (!i)
			*ret = one;
		if (one.age_s < ret->age_s)
			ret->age_s = one.age_s;
		if (one.times > ret->times)
			ret->times = one.times;
	}
	return true;
}

/* It came again and again since; or it is the latest of the same object, where a table does not say
 * how often. */
static bool overtakes(const struct happening *since, const struct happening *old)
{
	if (since->age_s > old->age_s / OLDER)
		return false;
	if (since->times || old->times)
		return since->times >= OFTEN && since->times > old->times;
	return *old->object && streq(since->object, old->object);
}

static const struct cause *came_since(const struct why *w, const struct explanation *x,
				      const struct cause *c, const struct happening *old,
				      struct happening *ret)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		const struct cause *o = &x->causes.v[i];

		if (o != c && o->sig->tier == TIER_ROOT && o->weight >= CONFIDENT &&
		    happened(w, o, ret) && overtakes(ret, old))
			return o;
	}
	return NULL;
}

/* All lines of @c are rows of pods whose place has been taken; *ret_s: since when at the least. */
static bool was_replaced(const struct why *w, const struct cause *c, long *ret_s)
{
	const struct record *r = c->record;

	*ret_s = 0;
	for (size_t i = 0; i < r->events.n; i++) {
		struct podrow row;
		long age_s;

		if (!podrow_parse(r->events.v[i].text, &row) ||
		    !podrows_replaced(&w->podrows, &row, &age_s))
			return false;
		*ret_s = !i || age_s < *ret_s ? age_s : *ret_s;
	}
	return r->events.n && r->count <= r->events.n;
}

static void say_replaced(const struct why *w, struct arena *a, struct cause *c)
{
	struct unit_buf since;
	long age_s;

	if (c->weight <= REMARK || !was_replaced(w, c, &age_s))
		return;
	c->weight = REMARK;
	c->because = arena_printf(a, "another pod has run in its place for %s",
				  format_duration(&since, (uint64_t)age_s * NS_PER_S));
}

void kubevents(const struct why *w, struct arena *a, struct explanation *x)
{
	for (size_t i = 0; i < x->causes.n; i++) {
		struct cause *c = &x->causes.v[i];
		struct happening old, since;

		say_replaced(w, a, c);
		if (c->weight <= REMARK || !happened(w, c, &old) ||
		    !came_since(w, x, c, &old, &since))
			continue;
		c->weight = REMARK;
		c->because = since.times
				     ? arena_printf(a,
						    "it was last seen %ld s before another failure "
						    "of the pod, which came %ld times",
						    old.age_s - since.age_s, since.times)
				     : arena_printf(a,
						    "it was last seen %ld s before another failure "
						    "of %s",
						    old.age_s - since.age_s, since.object);
	}
}
