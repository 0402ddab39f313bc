/*
 * Who waits for whom. What ranks wait in (a collective of a group, a message)
 * is a node; whoever keeps it from going on may wait elsewhere himself, and so
 * on: at the end of the chain is the one who waits for nobody, or the chain
 * closes and all wait for each other.
 */
#include "probes/flight/chain.h"

/* Began, as far as it would be said; one that is not begun may stand behind another. */
static bool has_begun(const struct view *v, const struct flight_entry *e)
{
	return e->state == FLIGHT_STARTED && v->d->tells_start;
}

/* Said so, or followed by one that is over, which here is the same; @e is a member's. */
static bool is_over(const struct view *v, const struct flight_entry *e)
{
	const struct track *t = view_track(v, e->group);

	return t->waits == NOWHERE || e->seq < view_entry(v, t->waits)->seq;
}

static bool is_adrift(const struct court *c, const struct view *v, uint32_t group)
{
	const struct track *t = view_track(v, group);

	return c->fronts[group].is_adrift || (t && t->is_adrift);
}

static void see_member(struct court *c, struct knot *k, int rank, uint32_t seq)
{
	struct view *v = court_view(c, rank);
	const struct flight_entry *e;
	enum presence p = view_presence(v, k->group, seq, &e);

	/* of what it waits in only that is known; by its number it may be another one */
	if (p != NO_DUMP && is_adrift(c, v, k->group)) {
		const struct track *t = view_track(v, k->group);

		e = t && t->waits != NOWHERE ? view_entry(v, t->waits) : NULL;
		p = e ? HERE : LOST;
	}
	if (p == NO_DUMP) {
		*LIST_ADD(c->a, &k->missing) = rank;
	} else if (p == LOST) {
		*LIST_ADD(c->a, &k->lost) = v;
	} else if (p == ABSENT) {
		*LIST_ADD(c->a, v->stuck == NOWHERE ? &k->absent : &k->elsewhere) = v;
	} else if (is_over(v, e)) {
		k->over++;
	} else {
		bool is_behind = !has_begun(v, e) && view_entry(v, v->stuck) != e;

		*LIST_ADD(c->a, &k->waiting) = v;
		k->sample = k->sample ? k->sample : e;
		if (is_behind)
			*LIST_ADD(c->a, &k->elsewhere) = v;
		else if (!has_begun(v, e) && v->d->tells_start)
			*LIST_ADD(c->a, &k->unbegun) = v;
		k->begun += has_begun(v, e);
		k->unsaid += !v->d->tells_start;
	}
}

static void see_front(struct court *c, struct knot *k, uint32_t group)
{
	const struct flight_group *g = &c->f->groups.v[group];

	k->group = group;
	for (size_t i = 0; i < g->n; i++)
		see_member(c, k, g->ranks[i], c->fronts[group].seq);
}

static void see_message(struct court *c, struct knot *k, struct view *v)
{
	need_list needs = {0};

	k->is_message = true;
	k->sample = view_entry(v, v->stuck);
	k->group = k->sample->group;
	*LIST_ADD(c->a, &k->waiting) = v;
	messages_needed(c, v, v->stuck, &needs);
	for (size_t i = 0; i < needs.n; i++) {
		const struct need *n = &needs.v[i];

		if (!n->at) {
			if (n->peer >= 0)
				*LIST_ADD(c->a, &k->missing) = n->peer;
		} else if (!n->theirs) {
			*LIST_ADD(c->a, n->at->stuck == NOWHERE ? &k->absent : &k->elsewhere) =
				n->at;
			if (!k->unmet || (n->at->stuck == NOWHERE && k->absent.n == 1))
				k->unmet = n->mine;
		} else if (n->mine->in && n->theirs->in && n->mine->in != n->theirs->in) {
			k->mine = n->mine;
			k->theirs = n->theirs;
			k->peer = n->at;
		} else {
			k->over += n->theirs->state == FLIGHT_COMPLETED;
		}
	}
	k->unsaid += !v->d->tells_start;
	k->begun += has_begun(v, k->sample);
}

/* Nodes: groups first, then ranks that wait in a message. */
void knot_see(struct court *c, uint32_t node, struct knot *ret)
{
	size_t groups = c->f->groups.n;

	*ret = (struct knot){.node = node};
	if (node < groups)
		see_front(c, ret, node);
	else
		see_message(c, ret, &c->views[node - groups]);
}

uint32_t knot_of(const struct court *c, const struct view *v)
{
	const struct flight_entry *e;

	if (v->stuck == NOWHERE)
		return NOWHERE;
	e = view_entry(v, v->stuck);
	return e->is_p2p ? (uint32_t)(c->f->groups.n + (size_t)(v - c->views)) : e->group;
}

/* Where it goes on from there; NOWHERE: this is the end. */
static uint32_t next(struct court *c, const struct knot *k)
{
	if (k->absent.n)
		return NOWHERE;
	for (size_t i = 0; i < k->elsewhere.n; i++) {
		uint32_t n = knot_of(c, k->elsewhere.v[i]);

		if (n != k->node)
			return n;
	}
	return NOWHERE;
}

/* To the end of the chain; true where it closes, and then in @ret there is some node of the ring.
 */
static bool follow(struct court *c, uint32_t node, uint32_t *seen, uint32_t round, uint32_t *ret)
{
	struct knot k;

	for (;;) {
		uint32_t to;

		*ret = node;
		if (seen[node] == round)
			return true;
		seen[node] = round;
		knot_see(c, node, &k);
		to = next(c, &k);
		if (to == NOWHERE)
			return false;
		node = to;
	}
}

/* The rank that closes the step from one node to the next. */
static const struct view *step(struct court *c, uint32_t node, uint32_t *ret)
{
	struct knot k;

	knot_see(c, node, &k);
	*ret = next(c, &k);
	for (size_t i = 0; i < k.elsewhere.n; i++)
		if (knot_of(c, k.elsewhere.v[i]) == *ret)
			return k.elsewhere.v[i];
	return NULL;
}

static void ring(struct court *c, uint32_t node, struct ring *ret)
{
	enum { LINKS = 32 };
	uint32_t at = node;

	do {
		struct link *l = LIST_ADD(c->a, &ret->links);

		l->node = at;
		l->by = step(c, at, &at);
	} while (at != node && at != NOWHERE && ret->links.n < LINKS);
}

/* All that somebody waits in, the longest wait first. */
struct start {
	uint32_t node;
	int64_t created_ns;
};

static int by_time(const void *pa, const void *pb)
{
	const struct start *a = pa, *b = pb;

	return a->created_ns < b->created_ns ? -1 : a->created_ns > b->created_ns;
}

static size_t starts(struct court *c, struct start **ret)
{
	LIST(struct start) l = {0};

	for (uint32_t g = 0; g < c->f->groups.n; g++)
		if (c->fronts[g].seq != NOWHERE)
			*LIST_ADD(c->a, &l) = (struct start){g, c->fronts[g].created_ns};
	for (size_t i = 0; i < c->nviews; i++) {
		const struct view *v = &c->views[i];

		if (v->stuck != NOWHERE && view_entry(v, v->stuck)->is_p2p)
			*LIST_ADD(c->a, &l) =
				(struct start){knot_of(c, v), view_entry(v, v->stuck)->created_ns};
	}
	if (l.n)
		qsort(l.v, l.n, sizeof(*l.v), by_time);
	*ret = l.v;
	return l.n;
}

/* The end that most chains have; of as many, the one that was reached first. */
static uint32_t busiest(struct court *c, const struct start *s, size_t n, uint32_t *seen,
			bool *ret_ring)
{
	enum { MOST = 4096 };
	uint32_t *votes = arena_alloc(c->a, (c->f->groups.n + c->nviews + 1) * sizeof(*votes));
	bool *rings = arena_alloc(c->a, c->f->groups.n + c->nviews + 1);
	uint32_t best = NOWHERE, end;

	for (size_t i = 0; i < n && i < MOST; i++) {
		bool closed = follow(c, s[i].node, seen, (uint32_t)i + 1, &end);

		rings[end] |= closed;
		votes[end]++;
		if (best == NOWHERE || votes[end] > votes[best])
			best = end;
	}
	*ret_ring = best != NOWHERE && rings[best];
	return best;
}

bool judge_chain(struct court *c, struct flight_verdict *v)
{
	struct start *s;
	size_t n = starts(c, &s);
	uint32_t *seen = arena_alloc(c->a, (c->f->groups.n + c->nviews + 1) * sizeof(*seen));
	bool is_ring;
	uint32_t end;
	struct knot k;

	if (!n)
		return false;
	end = busiest(c, s, n, seen, &is_ring);
	knot_see(c, end, &k);
	if (knot_is_young(c, &k)) {
		v->healthy = "some collectives were under way when the dumps were made, none for "
			     "long: nothing hangs";
		return false;
	}
	if (knot_is_of_copies(&k))
		tell_copies(c, v, &k);
	if (is_ring) {
		struct ring r = {0};

		ring(c, end, &r);
		tell_ring(c, v, &r);
	} else {
		tell_knot(c, v, &k);
	}
	return true;
}
