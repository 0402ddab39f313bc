/* What the ranks waited in when they gave up: who is behind, who is at another place of the
 * program, who was still preparing its data, or compiling. */
#include "probes/log/explain.h"

enum {
	BEHIND = 62,
	ELSEWHERE = 72,	  /* one number, two different collectives */
	CALLED = 70,	  /* ... or one that was called in two places of the program */
	LIKELY = 67,	  /* ... of two groups, perhaps: torch does not say it */
	PREPARING = 70,	  /* a bar of it beside the timeout */
	PERHAPS = 58,	  /* ... and only the end of the job is said */
	PATIENCE_S = 540, /* the shortest timeout that anybody runs with is ten minutes */
};

/* A cause that no line of its own shows: the line that made us compare is the one to look at. */
static void suspect_at(struct why *w, struct arena *a, struct explanation *x, const char *id,
		       int weight, const char *because, const char *seen_as)
{
	struct cause *c = explain_add(w, a, x, id);
	const struct cause *seen = explain_find(x, seen_as); /* the list may have moved */

	if (seen && c->weight < weight)
		kin_adopt(c, seen);
	explain_suspect(c, weight, because);
	if (!c->first && seen)
		c->first = seen->first;
}

/* All members of a group pass the same number of elements. */
static bool takes_equal(const char *op)
{
	static const char *const ops[] = {"ALLREDUCE",
					  "BROADCAST",
					  "REDUCE",
					  "ALLGATHER",
					  "_ALLGATHER_BASE",
					  "BARRIER",
					  "REDUCE_SCATTER",
					  "_REDUCE_SCATTER_BASE",
					  NULL};

	for (size_t i = 0; ops[i]; i++)
		if (streq(op, ops[i]))
			return true;
	return false;
}

static bool differ(const struct actor *p, const struct actor *q)
{
	return p->seq == q->seq && actors_share_group(p, q) && takes_equal(p->op) &&
	       takes_equal(q->op) &&
	       (!streq(p->op, q->op) || (p->numel >= 0 && q->numel >= 0 && p->numel != q->numel));
}

/* The same in all but where the program called it. */
static bool is_called_elsewhere(const struct actor *p, const struct actor *q)
{
	return p->seq == q->seq && *p->group && streq(p->group, q->group) && p->place && q->place &&
	       p->place != q->place;
}

static const char *call_text(struct arena *a, const struct actor *p)
{
	const char *what =
		p->numel < 0 ? p->op : arena_printf(a, "%s of %ld elements", p->op, p->numel);

	return arena_printf(a, "%s%s", what, actor_place_text(a, p));
}

static int elsewhere_weight(const struct actor *p, const struct actor *q)
{
	if (!differ(p, q))
		return CALLED;
	return *p->group && *q->group ? ELSEWHERE : LIKELY;
}

/* Two ranks that wait in the same number of one group, but not in the same collective. */
static void elsewhere(struct why *w, struct arena *a, struct explanation *x)
{
	const struct actor *one = NULL;

	for (size_t i = 0; i < w->actors.v.n; i++) {
		const struct actor *y = &w->actors.v.v[i];

		if (y->seq < 0)
			continue;
		if (!one || (!differ(one, y) && !is_called_elsewhere(one, y))) {
			one = one ? one : y;
			continue;
		}
		*LIST_ADD(a, &x->notes) =
			arena_printf(a, "collective number %lld is %s for %s, but %s for %s",
				     (long long)y->seq, call_text(a, one), who_text(a, &one->who),
				     call_text(a, y), who_text(a, &y->who));
		suspect_at(w, a, x, "PT-014", elsewhere_weight(one, y), x->notes.v[x->notes.n - 1],
			   "PT-006");
		return;
	}
}

/* The first rank that never said that it waits; -1: all did, or nobody is known to be missing. */
static int find_silent(const struct actors *t, int nranks)
{
	bool seen[1024] = {false};

	for (size_t i = 0; i < t->v.n; i++) {
		const struct actor *y = &t->v.v[i];

		if (y->seq >= 0 && y->who.rank >= 0 && y->who.rank < (int)ARRAY_LEN(seen))
			seen[y->who.rank] = true;
	}
	for (int r = 0; r < nranks && r < (int)ARRAY_LEN(seen); r++)
		if (!seen[r])
			return r;
	return -1;
}

/* " (train.py line 9, in step)", or nothing. */
/* Who waited in which collective, who is behind, who never said a word. */
static void waiting(struct why *w, struct arena *a, struct explanation *x)
{
	const struct waiters waits = actors_waiting(&w->actors);
	int absent = waits.n > 1 ? find_silent(&w->actors, waits.nranks) : -1;
	const char *said = behind(w, a, x);

	if (!said && absent >= 0 && waits.n >= waits.nranks / 2)
		said = arena_printf(a,
				    "%d ranks waited in %s number %lld%s; rank %d never said that "
				    "it did: look there",
				    waits.n, waits.behind->op, (long long)waits.behind->seq,
				    actor_place_text(a, waits.behind), absent);
	if (!said)
		return;
	*LIST_ADD(a, &x->notes) = said;
	explain_raise(explain_find(x, "PT-006"), BEHIND, said);
}

/* About as long as ranks wait: ten minutes, and so on. */
static bool is_a_limit(long s)
{
	static const long usual_s[] = {600, 900, 1200, 1800, 3600, 5400, 7200, 10800};

	for (size_t i = 0; i < ARRAY_LEN(usual_s); i++)
		if (s > usual_s[i] - usual_s[i] / 20 && s <= usual_s[i] + 30)
			return true;
	return false;
}

/* A traceback began in the middle of it, and the log ends before the error's own line. */
static void cut_off(struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "DAT-004");

	if (!c || !is_a_limit(w->preparation_s) || x->in_trouble || why_was_interrupted(w))
		return;
	for (size_t i = 0; i < x->causes.n; i++)
		if (x->causes.v[i].weight >= CONFIDENT && !x->causes.v[i].is_over)
			return;
	explain_suspect(c, PERHAPS,
			arena_printf(a,
				     "'%s' stood at %d %% after %ld minutes, about as long as "
				     "ranks wait, when another rank's traceback came",
				     w->preparation, w->preparation_percent,
				     (w->preparation_s + 30) / 60));
}

/* One rank works for longer than the others are told to wait. */
static void preparing(struct why *w, struct arena *a, struct explanation *x)
{
	static const char *const ended[] = {"PT-006", "PT-012", "PT-023",
					    "PT-099", "PT-024", "SLM-004"};
	const char *seen_as = NULL, *said;
	bool gave_up;

	for (size_t i = ARRAY_LEN(ended); i--;)
		if (explain_find(x, ended[i]))
			seen_as = ended[i];
	if (w->preparation_s < PATIENCE_S || why_has_worked(w))
		return;
	if (!seen_as) {
		cut_off(w, a, x);
		return;
	}
	gave_up = !streq(seen_as, "SLM-004");
	said = arena_printf(a, "'%s' stood at %d %% after %ld minutes when %s", w->preparation,
			    w->preparation_percent, w->preparation_s / 60,
			    gave_up ? "others gave up" : "the job was ended");
	suspect_at(w, a, x, "DAT-004", gave_up ? PREPARING : PERHAPS, said, seen_as);
}

/* So many lines apart at most. */
static bool is_beside(const struct record *r, const struct log_event *e, uint64_t near)
{
	uint64_t apart = r->last_line > e->line ? r->last_line - e->line : e->line - r->last_line;

	return r->last_file == e->file && apart <= near;
}

/* The last lines of a compiler stand where others gave up, and not all did. */
static void compiling(struct why *w, struct explanation *x)
{
	enum { NEAR = 16 /* lines, of all ranks */, MORE = 10 };
	const struct waiters waits = actors_waiting(&w->actors);
	struct cause *c = explain_find(x, "PT-204");
	const struct cause *timeout = explain_find(x, "PT-006");
	const struct log_event *e = timeout ? timeout->first : NULL;

	if (!c)
		return;
	c->weight = 0;
	if (!e || timeout->is_over || !is_beside(c->record, e, NEAR) ||
	    (waits.nranks && waits.n >= waits.nranks))
		return;
	explain_reason(c, timeout, timeout->weight + MORE,
		       "a compiler spoke just then, and not every rank gave up");
}

void waits(struct why *w, struct arena *a, struct explanation *x)
{
	elsewhere(w, a, x);
	waiting(w, a, x);
	preparing(w, a, x);
	compiling(w, x);
}
