#include "probes/log/muster.h"

void muster_note(struct muster *m, long which, long total)
{
	uint64_t bit;

	if (which < 0 || which >= total || which >= MUSTER_MAX)
		return;
	/* another job, or the same one with another size: what counts is the latest */
	if (m->total != total)
		*m = (struct muster){.total = total};
	bit = UINT64_C(1) << (which % 64);
	m->present += !(m->seen[which / 64] & bit);
	m->seen[which / 64] |= bit;
}

bool muster_lacks(const struct muster *m)
{
	return m->total > 1 && m->present && m->present < m->total && !m->is_complete;
}

bool muster_is_one_node(const struct muster *m)
{
	long first = 0;

	if (m->present < 2 || m->total % m->present)
		return false;
	while (first < MUSTER_MAX && !(m->seen[first / 64] >> (first % 64) & 1))
		first++;
	for (long i = first; i < first + m->present; i++)
		if (i >= MUSTER_MAX || !(m->seen[i / 64] >> (i % 64) & 1))
			return false;
	return first % m->present == 0;
}
