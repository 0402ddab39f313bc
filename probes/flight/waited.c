/* How long the ranks have waited in a knot: moments only, or nobody can tell. */
#include "probes/flight/chain.h"

#include "lib/core/units.h"

static const int64_t second_ns = 1000000000;

/* One that gave up waited for as long as it was told. */
static int64_t moment_ns(const struct flight_entry *e)
{
	const int64_t longest_ns = 20 * second_ns;

	return e->timeout_s && e->timeout_s * second_ns / 2 < longest_ns
		       ? e->timeout_s * second_ns / 2
		       : longest_ns;
}

/* A file may have been copied since, or been given another time: it is not older than what it
 * holds, but for a file server's clock, and what another rank did meanwhile shows that it waited.
 */
bool knot_is_young(const struct court *c, const struct knot *k)
{
	for (size_t i = 0; i < k->waiting.n; i++) {
		const struct view *v = k->waiting.v[i];
		const struct flight_entry *e = view_entry(v, v->stuck);
		int64_t waited = v->d->written_ns - e->created_ns, moment = moment_ns(e);

		if (!v->d->written_ns || v->d->written_ns < v->d->last_ns - second_ns ||
		    waited > moment)
			return false;
		if (!k->over && c->last_ns - e->created_ns > moment)
			return false;
	}
	return k->waiting.n > 0;
}

/* PyTorch dumps and ends the job soon after the time that it waits at most. */
bool knot_is_of_copies(const struct knot *k)
{
	const int64_t spare_ns = 600 * second_ns;

	for (size_t i = 0; i < k->waiting.n; i++) {
		const struct view *v = k->waiting.v[i];
		const struct flight_entry *e = view_entry(v, v->stuck);

		if (!v->d->written_ns || !e->timeout_s ||
		    v->d->written_ns - e->created_ns < e->timeout_s * second_ns + spare_ns)
			return false;
	}
	return k->waiting.n > 0;
}

void tell_copies(struct court *c, struct flight_verdict *v, const struct knot *k)
{
	const struct view *first = k->waiting.v[0];
	const struct flight_entry *e = view_entry(first, first->stuck);
	struct unit_buf b, limit;

	tell_line(
		c, (str_list *)&v->notes,
		"the dump of rank %d is dated %s after that wait began, and PyTorch gives up after "
		"%s: it is a copy, and how long the wait lasted is not known; had you dumped by "
		"hand while all went well, it would look the same",
		first->d->rank,
		format_duration(&b, (uint64_t)(first->d->written_ns - e->created_ns)),
		format_duration(&limit, (uint64_t)(e->timeout_s * second_ns)));
}
