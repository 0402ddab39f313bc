/* The circle method: one stands still, the others go round. */
#include "lib/cluster/pairs.h"

static size_t even(size_t n) { return n + n % 2; }

size_t pair_rounds(size_t n) { return n < 2 ? 0 : even(n) - 1; }

size_t pair_partner(size_t n, size_t round, size_t me)
{
	size_t ring = even(n) - 1, partner;

	if (me == ring) /* who stands still meets whoever would meet itself */
		return round * (even(n) / 2) % ring;
	partner = (round + ring - me) % ring;
	if (partner == me)
		partner = ring;
	return partner < n ? partner : n;
}
