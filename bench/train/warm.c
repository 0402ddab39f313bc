/*
 * A GPU's libraries load their code at the first pass: in a second here, in a minute where
 * many read it from one file server. So every rank does one pass that counts for nothing,
 * and all wait with patience for the last one.
 */
#include "bench/train/patience.h"
#include "bench/train/rank.h"
#include "lib/core/units.h"

static const uint64_t WARMING_NS = 120 * NS_PER_S; /* besides the deadline */

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

int rank_warm(struct rank *r)
{
	const struct patience p = {.rdzv = r->o->rdzv,
				   .point = "ddpsmoke.warm",
				   .doing = "finish its first pass on its GPU",
				   .ns = WARMING_NS,
				   .rank = r->comm->rank,
				   .size = r->comm->size};
	struct unit_buf time;
	int late;

	if (p.size < 2 || !r->net->graph || !r->o->engine || !r->o->engine->device)
		return 0;
	if (pass(r))
		return -1;
	if (!patience_wait(&p, &late, r->e))
		return 0;
	if (late < 0)
		return -1;
	err_set(r->e, ERR_SYS, "the first pass of rank %d (%.60s) on its GPU takes more than %s",
		late, comm_peer(r->comm, late)->host, format_duration(&time, WARMING_NS));
	return err_hint(r->e, "nvidia-smi there; are its libraries on a slow file system?");
}
