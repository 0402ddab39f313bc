/* Which dumps are of one run: those of the same ranks, of which none fell silent for longer than a
 * rank may wait for another one. */
#include "lib/core/units.h"
#include "lib/flight/flight.h"

bool flight_group_has(const struct flight_group *g, int rank)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->ranks[i] == rank)
			return true;
	return false;
}

/* Its world's ranks, as it writes them; 0: it does not say. */
static flight_word world(const struct flight *f, const struct flight_dump *d)
{
	for (size_t i = 0; i < d->groups.n; i++)
		if (streq(f->groups.v[d->groups.v[i]].desc, "default_pg"))
			return f->groups.v[d->groups.v[i]].of;
	return 0;
}

bool flight_worlds_differ(const struct flight *f, const struct flight_dump *a,
			  const struct flight_dump *b)
{
	flight_word here = world(f, a), there = world(f, b);

	return here && there && here != there;
}

uint32_t flight_timeout_s(const struct flight_dump *d)
{
	uint32_t longest_s = 0;

	for (size_t i = 0; i < d->entries.n; i++)
		if (d->entries.v[i].timeout_s > longest_s)
			longest_s = d->entries.v[i].timeout_s;
	return longest_s;
}

int64_t flight_patience_ns(uint32_t timeout_s)
{
	enum { USUAL_S = 1800, SPARE_S = 600 };

	return (2 * (int64_t)(timeout_s ?: USUAL_S) + SPARE_S) * (int64_t)NS_PER_S;
}
