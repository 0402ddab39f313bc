/* The words of what the dumps say. */
#include "probes/flight/court.h"

#include "lib/core/text.h"

const char *say_group(const struct court *c, uint32_t group)
{
	const struct flight_group *g = &c->f->groups.v[group];
	bool named = *g->desc && !streq(g->desc, "undefined") && !streq(g->desc, "default_pg");
	const char *who = g->n ? arena_printf(c->a, " (%s)", say_ranks(c->a, g->ranks, g->n)) : "";

	if (streq(g->desc, "default_pg"))
		return arena_printf(c->a, "the default group%s", who);
	return named ? arena_printf(c->a, "group \"%.80s\"%s", g->desc, who)
		     : arena_printf(c->a, "group %.80s%s", g->name, who);
}

const char *say_op(const struct court *c, const struct flight_entry *e)
{
	const char *op = flight_said(c->f, e->op);

	op = *op ? op : "collective";
	return e->seq ? arena_printf(c->a, "%.80s #%u", op, e->seq)
		      : arena_printf(c->a, "%.80s", op);
}

const char *say_at(const struct court *c, const struct flight_entry *e)
{
	return e->frame ? arena_printf(c->a, " (%s)", flight_said(c->f, e->frame)) : "";
}

const char *say_of(const struct court *c, uint32_t of, uint32_t group)
{
	return of == group ? "of the same group" : arena_printf(c->a, "of %s", say_group(c, of));
}

const char *say_last(const struct court *c, const struct view *v, uint32_t group)
{
	static const char *const how[] = {"not begun", "begun", "completed"};
	const struct flight_entry *e;

	if (!v->d->entries.n)
		return "it entered none at all";
	e = view_entry(v, (uint32_t)v->d->entries.n - 1);
	return arena_printf(c->a, "the last it entered was %s %s, %s%s", say_op(c, e),
			    say_of(c, e->group, group), how[e->state], say_at(c, e));
}

struct flight_cause *tell_new(struct court *c, struct flight_verdict *v, const char *id, int weight,
			      const int *ranks, size_t n)
{
	struct flight_cause *t = LIST_ADD(c->a, &v->causes);

	*t = (struct flight_cause){.id = id, .weight = weight, .nranks = n};
	t->ranks = arena_alloc(c->a, (n + 1) * sizeof(*t->ranks));
	if (n)
		memcpy(t->ranks, ranks, n * sizeof(*t->ranks));
	return t;
}

void tell_line(struct court *c, str_list *to, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*LIST_ADD(c->a, to) = arena_vprintf(c->a, fmt, ap);
	va_end(ap);
}
