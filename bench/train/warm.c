/*
 * A GPU's libraries load their code at the first pass: in a second here, in a minute where
 * many read it from one file server. Nobody is stuck meanwhile. So every rank does one
 * pass that counts for nothing, and all wait for the last one with more patience than
 * for any exchange. Who dies or falls silent is known at once all the same.
 */
#include "bench/train/rank.h"

#include "lib/cluster/rendezvous.h"
#include "lib/core/interrupt.h"
#include "lib/core/units.h"

static const uint64_t WARMING_NS = 120 * NS_PER_S; /* besides the deadline */
static const char all_key[] = "ddpsmoke.warm";

/* Parameters and statistics are made after this. */
static int pass(struct rank *r)
{
	struct net *n = r->net;
	int (*before)(void *arg, int part) = n->before;
	int result = -1;

	n->before = NULL; /* nothing travels */
	if (n->there)
		n->there->keeps_grads = r->overlap.stream;
	if (!net_store(n, r->e) && !net_begin(n, r->o->batch, r->e)) {
		(void)net_forward(n);
		result = net_backward(n, NULL, NULL);
		net_backward_end(n);
		if (net_failure(n))
			result = err_set(r->e, ERR_SYS, "%s", net_failure(n));
	}
	n->before = before;
	return result;
}

/* Each try of the rendezvous' has the deadline. */
static int wait_for(const struct rank *r, const char *key, uint64_t until_ns)
{
	AUTO(arena_done) struct arena a = {0};
	const void *value;
	size_t n;
	int result;

	do
		result = rdzv_get(r->o->rdzv, key, &a, &value, &n, r->e);
	while (result && !rdzv_failure(r->o->rdzv) && !interrupt_pending() && now_ns() < until_ns);
	if (!result)
		*r->e = (struct err){0};
	return result;
}

static const char *key_of(int rank, char buf[32])
{
	(void)snprintf(buf, 32, "ddpsmoke.warm.%d", rank);
	return buf;
}

static int wait_for_others(const struct rank *r)
{
	uint64_t until = now_ns() + WARMING_NS;
	struct unit_buf time;
	char key[32];

	for (int i = 1; i < r->comm->size; i++) {
		if (!wait_for(r, key_of(i, key), until))
			continue;
		if (rdzv_failure(r->o->rdzv) || interrupt_pending())
			return -1;
		err_set(r->e, ERR_SYS,
			"the first pass of rank %d (%.60s) on its GPU takes more than %s", i,
			comm_peer(r->comm, i)->host, format_duration(&time, WARMING_NS));
		return err_hint(r->e, "nvidia-smi there; are its libraries on a slow file system?");
	}
	return rdzv_set(r->o->rdzv, all_key, "", 0, r->e);
}

int rank_warm(struct rank *r)
{
	char key[32];

	if (r->comm->size < 2 || !r->net->graph || !r->o->engine || !r->o->engine->device)
		return 0;
	if (pass(r))
		return -1;
	if (!r->comm->rank)
		return wait_for_others(r);
	if (rdzv_set(r->o->rdzv, key_of(r->comm->rank, key), "", 0, r->e))
		return -1;
	return wait_for(r, all_key, now_ns() + 2 * WARMING_NS); /* rank 0 gives up first */
}
