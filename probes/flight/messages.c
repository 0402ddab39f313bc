/* Sends and receives: what waits, and what it would need to go on. */
#include "probes/flight/court.h"

struct kind {
	uint32_t group;
	flight_word op;
};

/* Those behind one of the same kind that completed have completed, too. */
uint32_t messages_stuck(struct arena *a, const struct flight_dump *d)
{
	enum { KINDS = 256 };
	struct kind *done = arena_alloc(a, KINDS * sizeof(*done));
	uint32_t found = NOWHERE;
	size_t n = 0;

	for (uint32_t i = (uint32_t)d->entries.n; i-- > 0;) {
		const struct flight_entry *e = &d->entries.v[i];
		bool is_over = e->state == FLIGHT_COMPLETED, is_known = false;

		if (!e->is_p2p || e->is_part)
			continue;
		for (size_t k = 0; k < n && !is_known; k++)
			is_known = done[k].group == e->group && done[k].op == e->op;
		if (is_over && !is_known && n < KINDS)
			done[n++] = (struct kind){e->group, e->op};
		if (!is_over && !is_known)
			found = i;
	}
	return found;
}

/* "send 0->1" is met by "recv 1<-0". */
static bool mirror(const char *op, char *ret, size_t size, long *ret_peer)
{
	bool is_send = starts_with(op, "send ");
	char *end;
	long me, peer;

	if (!is_send && !starts_with(op, "recv "))
		return false;
	me = strtol(op + 5, &end, 10);
	if (end == op + 5 || !starts_with(end, is_send ? "->" : "<-"))
		return false;
	peer = strtol(end + 2, NULL, 10);
	*ret_peer = peer;
	return snprintf(ret, size, is_send ? "recv %ld<-%ld" : "send %ld->%ld", peer, me) > 0;
}

/* How many of one kind a dump has, up to one of them. */
static size_t count(const struct court *c, const struct view *v, const struct flight_entry *upto,
		    uint32_t group, const char *op)
{
	size_t n = 0;

	for (uint32_t i = 0; i < v->d->entries.n; i++) {
		const struct flight_entry *e = view_entry(v, i);

		n += e->is_p2p && e->group == group && streq(flight_said(c->f, e->op), op);
		if (e == upto)
			break;
	}
	return n;
}

/* What a GPU has sent may be complete before it is received: then the one that is as many sends
 * after the first is it. */
static const struct flight_entry *sent(const struct court *c, const struct view *v,
				       const struct view *peer, const struct flight_entry *mine,
				       const char *op)
{
	size_t n;

	if (v->has_lost || peer->has_lost)
		return NULL;
	n = count(c, v, mine, mine->group, flight_said(c->f, mine->op));
	for (uint32_t i = 0; i < peer->d->entries.n; i++) {
		const struct flight_entry *e = view_entry(peer, i);

		if (e->is_p2p && e->group == mine->group && streq(flight_said(c->f, e->op), op) &&
		    !--n)
			return e;
	}
	return NULL;
}

/* What the peer has of it, and has not completed. */
static const struct flight_entry *met_by(const struct court *c, const struct view *peer,
					 uint32_t group, const char *op)
{
	for (uint32_t i = peer->stuck; i < peer->d->entries.n; i++) {
		const struct flight_entry *e = view_entry(peer, i);

		if (e->is_p2p && !e->is_end && e->group == group && e->state != FLIGHT_COMPLETED &&
		    streq(flight_said(c->f, e->op), op))
			return e;
	}
	return NULL;
}

static void need(const struct court *c, const struct view *v, const struct flight_entry *e,
		 need_list *ret)
{
	const struct flight_group *g = &c->f->groups.v[e->group];
	struct need n = {.mine = e, .peer = -1};
	char other[64];
	long peer;

	if (!mirror(flight_said(c->f, e->op), other, sizeof(other), &peer))
		return;
	if (peer >= 0 && (size_t)peer < g->n)
		n.peer = g->ranks[peer];
	n.at = n.peer >= 0 ? court_view(c, n.peer) : NULL;
	n.theirs = n.at ? met_by(c, n.at, e->group, other) : NULL;
	if (n.at && !n.theirs)
		n.theirs = sent(c, v, n.at, e, other);
	*LIST_ADD(c->a, ret) = n;
}

void messages_needed(const struct court *c, const struct view *v, uint32_t entry, need_list *ret)
{
	const struct flight_entry *e = view_entry(v, entry);

	if (!e->is_end) {
		need(c, v, e, ret);
		return;
	}
	for (uint32_t i = entry; i-- > 0 && entry - i < 4096;) {
		const struct flight_entry *p = view_entry(v, i);

		if (p->group != e->group)
			continue;
		if (!p->is_part || !p->is_p2p || p->seq != e->seq || p->written != e->written)
			break;
		need(c, v, p, ret);
	}
}
