/*
 * Numbers of collectives, in dumps of versions that count messages among them.
 *
 * Ranks are compared by the number that a collective has in its group, and not all ranks of a
 * group send as often. PyTorch 2.3 has one number for both; 2.4 and 2.5 count a batch of messages
 * (not one alone) as a collective; later ones give every message a number of its own kind. The
 * dump's version does not tell: 2.5 and 2.6 write the same one. A message's own entry does: it
 * raised the collectives' number, and not that of messages.
 */
#include "lib/flight/flight.h"

struct tally {
	uint32_t written, seq; /* the highest among collectives, and of messages */
	uint32_t messages;     /* that were counted as collectives */
	bool is_seen, is_whole, has_shift;
};

/* Whose first one is there: what came before is nothing. Else it may be the end of a batch whose
 * parts are gone: of what it was the end nobody can tell. */
static void begin(struct tally *t, struct flight_entry *e, bool has_all, bool has_p2p)
{
	t->is_seen = true;
	t->is_whole = has_all || e->written <= (e->is_p2p ? 0 : 1);
	if (t->is_whole)
		return;
	e->is_part |= e->is_end && e->state == FLIGHT_COMPLETED;
	t->written = e->written;
	t->seq = e->is_p2p && has_p2p ? e->seq : 0;
}

static void count_message(struct tally *t, const struct flight_entry *e, bool has_p2p)
{
	bool is_own = has_p2p && e->seq > t->seq;

	if (e->written > t->written && !is_own) {
		t->messages += e->written - t->written;
		t->has_shift = true;
	}
	if (is_own)
		t->seq = e->seq;
}

void flight_count(struct flight *f, struct flight_dump *d, bool has_p2p)
{
	AUTO(arena_done) struct arena a = {0};
	struct tally *all = arena_alloc(&a, (f->groups.n + 1) * sizeof(*all));
	bool has_all = d->entries.n && !d->entries.v[0].record;

	for (size_t i = 0; i < d->entries.n; i++) {
		struct flight_entry *e = &d->entries.v[i];
		struct tally *t = &all[e->group];

		if (!t->is_seen)
			begin(t, e, has_all, has_p2p);
		if (e->is_p2p)
			count_message(t, e, has_p2p);
		else
			e->seq = e->written > t->messages ? e->written - t->messages : 0;
		t->written = e->written > t->written ? e->written : t->written;
	}
	for (uint32_t g = 0; g < f->groups.n; g++)
		if (all[g].has_shift)
			*LIST_ADD(&f->a, &d->shifts) = (struct flight_shift){g, all[g].is_whole};
}

int64_t flight_counted(const struct flight_dump *d, uint32_t group, int64_t written)
{
	for (size_t i = d->entries.n; i-- > 0;) {
		const struct flight_entry *e = &d->entries.v[i];

		if (e->group == group && !e->is_p2p && e->written <= written)
			return e->seq;
	}
	return -1;
}
