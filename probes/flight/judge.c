#include "probes/flight/court.h"

static int by_weight(const void *pa, const void *pb)
{
	const struct flight_cause *a = pa, *b = pb;

	return b->weight - a->weight;
}

/* Of those that nobody waits for it may be good to know, too. */
static void note_cut(struct court *c, struct flight_verdict *v)
{
	if (c->ncut)
		tell_line(c, (str_list *)&v->notes, "the dump of %s is cut short and was not read",
			  say_ranks(c->a, c->cut, c->ncut));
}

static bool is_empty(const struct court *c)
{
	for (size_t i = 0; i < c->nviews; i++)
		if (c->views[i].d->entries.n)
			return false;
	return true;
}

void flight_judge(struct flight *f, struct arena *a, struct flight_verdict *ret)
{
	struct court c = {.f = f, .a = a};

	*ret = (struct flight_verdict){.dumps = 0};
	court_open(&c, ret);
	ret->dumps = c.nviews;
	note_cut(&c, ret);
	if (!c.nviews)
		return;
	ret->healthy = "every collective that a rank entered has completed: nothing hangs in one";
	ret->is_empty = is_empty(&c);
	if (judge_match(&c, ret) || judge_chain(&c, ret))
		ret->healthy = NULL;
	judge_slow(&c, ret);
	if (ret->causes.n)
		qsort(ret->causes.v, ret->causes.n, sizeof(*ret->causes.v), by_weight);
}
