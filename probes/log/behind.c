/* Ranks of one process group that gave up at different numbers of its collectives: one left out
 * what the others ran, or they did. Who is alone with its number is named. */
#include "probes/log/explain.h"

enum {
	UNLIKE = 72, /* surely of one group, and not alike: other sizes, another operation */
	BETTER = 10, /* than the timeout by itself */
	NAMED = 8,   /* ranks; more are counted */
	FAR = 2000, /* numbers of two groups, where torch does not say which: many steps lie between
		     */
};

/* What two ranks do with each other, or some of it at once, each counts for itself: a stage of a
 * pipeline in the middle has twice as many as one at its end. */
static bool is_counted_by_all(const struct actor *y)
{
	static const char *const own[] = {"SEND", "RECV", "COALESCED"};

	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (streq(y->op, own[i]))
			return false;
	return y->seq >= 0 && y->who.rank >= 0;
}

static bool is_at(const struct actor *y, const struct actor *one)
{
	return y->seq == one->seq && is_counted_by_all(y) && actors_share_group(y, one);
}

static int count_at(const struct actors *t, const struct actor *one)
{
	int n = 0;

	for (size_t i = 0; i < t->v.n; i++)
		n += is_at(&t->v.v[i], one);
	return n;
}

static int by_rank(const void *pa, const void *pb) { return *(const int *)pa - *(const int *)pb; }

/* "rank 3", "ranks 0, 1, 2", "12 ranks". */
static const char *those_at(struct arena *a, const struct actors *t, const struct actor *one)
{
	int ranks[NAMED], n = count_at(t, one), k = 0;
	const char *s;

	if (n == 1)
		return who_text(a, &one->who);
	if (n > NAMED)
		return arena_printf(a, "%d ranks (%s is one)", n, who_text(a, &one->who));
	for (size_t i = 0; i < t->v.n; i++)
		if (is_at(&t->v.v[i], one))
			ranks[k++] = t->v.v[i].who.rank;
	qsort(ranks, (size_t)k, sizeof(*ranks), by_rank);
	s = arena_printf(a, "ranks %d", ranks[0]);
	for (int i = 1; i < k; i++)
		s = arena_printf(a, "%s, %d", s, ranks[i]);
	return s;
}

/* "_ALLGATHER_BASE number 9 of 4096 elements (train.py line 9, in step)" */
static const char *call_text(struct arena *a, const struct actor *p)
{
	const char *of = p->numel < 0 ? ""
				      : arena_printf(a, " of %ld element%s", p->numel,
						     p->numel == 1 ? "" : "s");

	return arena_printf(a, "%s number %lld%s%s", p->op, (long long)p->seq, of,
			    actor_place_text(a, p));
}

/* The number at which most of those stand that are not where @one is. */
static const struct actor *most_others(const struct actors *t, const struct actor *one)
{
	const struct actor *best = NULL;
	int most = 0;

	for (size_t i = 0; i < t->v.n; i++) {
		const struct actor *y = &t->v.v[i];
		int n;

		if (!is_counted_by_all(y) || y->seq == one->seq || !actors_share_group(y, one) ||
		    (best && is_at(y, best)))
			continue;
		n = count_at(t, y);
		if (n > most) {
			most = n;
			best = y;
		}
	}
	return best;
}

/* Of those that others are ahead of; groups whose ranks are all at one number do not count. */
static const struct actor *lowest(const struct actors *t)
{
	const struct actor *low = NULL, *alike = NULL;

	for (size_t i = 0; i < t->v.n; i++) {
		const struct actor *y = &t->v.v[i];

		if (!is_counted_by_all(y) || (low && y->seq >= low->seq) ||
		    (alike && is_at(y, alike)))
			continue;
		if (most_others(t, y))
			low = y;
		else
			alike = y;
	}
	return low;
}

static const char *told(struct arena *a, const struct actors *t, const struct actor *behind,
			const struct actor *others)
{
	bool alone = count_at(t, behind) == 1;
	bool is_sure = *behind->group && *others->group;
	long by = (long)(others->seq - behind->seq);

	return arena_printf(a, "%s %s %ld collective%s behind %s%s: %s %s in %s, while %s at %s",
			    those_at(a, t, behind), alone ? "is" : "are", by, by > 1 ? "s" : "",
			    those_at(a, t, others), is_sure ? "" : ", if in one process group",
			    alone ? "it" : "they", alone ? "waits" : "wait", call_text(a, behind),
			    count_at(t, others) == 1 ? "that one is" : "those are",
			    call_text(a, others));
}

static const struct log_event *event_of(const struct cause *c, struct arena *a,
					const struct actor *y)
{
	const char *seq = arena_printf(a, "SeqNum=%lld,", (long long)y->seq);

	for (size_t i = 0; c && i < c->record->events.n; i++) {
		const struct log_event *e = &c->record->events.v[i];

		if (e->who.rank == y->who.rank && strstr(e->text, seq))
			return e;
	}
	return NULL;
}

const char *behind(struct why *w, struct arena *a, struct explanation *x)
{
	struct cause *c = explain_find(x, "PT-123"), *timeout = explain_find(x, "PT-006");
	const struct actor *low = lowest(&w->actors);
	const struct actor *others = low ? most_others(&w->actors, low) : NULL;
	const struct log_event *e;
	const char *said;
	bool is_sure, unlike;

	if (c) /* every timeout says what makes it */
		c->weight = 0;
	if (!others)
		return NULL;
	said = told(a, &w->actors, low, others);
	if (!c || !timeout || timeout->is_over)
		return said;
	is_sure = *low->group && *others->group;
	if (!is_sure && others->seq - low->seq >= FAR)
		return said;
	unlike = is_sure && (!streq(low->op, others->op) || low->numel != others->numel);
	e = event_of(c, a, low);
	c->first = e ? e : timeout->first;
	explain_raise(c, unlike ? UNLIKE : timeout->weight + BETTER, said);
	return said;
}
