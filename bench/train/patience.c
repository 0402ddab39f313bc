#include "bench/train/patience.h"

#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"

static const char *key_of(const struct patience *p, int rank, char buf[64])
{
	if (rank)
		(void)snprintf(buf, 64, "%s.%d", p->point, rank);
	else
		(void)snprintf(buf, 64, "%s", p->point);
	return buf;
}

static void say_waiting(const struct patience *p, int rank)
{
	const struct rdzv_member *m;
	struct err unknown = {0};
	size_t n;

	if (p->doing && !rdzv_members(p->rdzv, &m, &n, &unknown))
		log_say("waiting for rank %d (%.60s) to %s", rank, m[rank].host, p->doing);
}

/* Each try of the rendezvous' has the deadline. */
static int wait_for(const struct patience *p, int rank, uint64_t until_ns, struct err *e)
{
	AUTO(arena_done) struct arena a = {0};
	const void *value;
	bool is_said = p->rank;
	char key[64];
	size_t n;

	while (rdzv_get(p->rdzv, key_of(p, rank, key), &a, &value, &n, e)) {
		if (rdzv_failure(p->rdzv) || interrupt_pending() || now_ns() >= until_ns)
			return -1;
		if (!is_said)
			say_waiting(p, rank);
		is_said = true;
	}
	*e = (struct err){0};
	return 0;
}

static int wait_for_others(const struct patience *p, int *ret_late, struct err *e)
{
	uint64_t until = now_ns() + p->ns;
	char key[64];

	for (int i = 1; i < p->size; i++) {
		if (!wait_for(p, i, until, e))
			continue;
		*ret_late = rdzv_failure(p->rdzv) || interrupt_pending() ? -1 : i;
		return -1;
	}
	return rdzv_set(p->rdzv, key_of(p, 0, key), "", 0, e);
}

int patience_wait(const struct patience *p, int *ret_late, struct err *e)
{
	char key[64];

	*ret_late = -1;
	if (p->size < 2)
		return 0;
	if (!p->rank)
		return wait_for_others(p, ret_late, e);
	if (rdzv_set(p->rdzv, key_of(p, p->rank, key), "", 0, e))
		return -1;
	return wait_for(p, 0, now_ns() + 2 * p->ns, e); /* rank 0 gives up first */
}
