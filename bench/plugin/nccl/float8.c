/*
 * The floats of 8 bits: NCCL reduces them since 2.24, and on GPUs since Hopper. All ranks
 * have to, or one would refuse what the others wait for.
 */
#include "bench/plugin/nccl/nccl.h"

enum { FIRST_NCCL = 22400, FIRST_GPU = 90 };

struct can { /* travels */
	int32_t nccl, capability;
};

static bool does(const struct can *c)
{
	return c->nccl >= FIRST_NCCL && c->capability >= FIRST_GPU;
}

static void say(const struct nccl_comm *c, int rank, const struct can *can, char *ret, size_t n)
{
	char who[192], version[32];

	(void)cards_name(&c->cards, rank, who, sizeof(who));
	vendor_version(can->nccl, version, sizeof(version));
	if (can->nccl < FIRST_NCCL)
		(void)snprintf(ret, n, "%s has NCCL %s, which learned it in 2.24", who, version);
	else
		(void)snprintf(
			ret, n,
			"the GPU of %s has compute capability %d.%d, and it takes 9.0 (Hopper)",
			who, can->capability / 10, can->capability % 10);
}

int nccl_float8(struct nccl_comm *c, const struct comm_world *w, struct comm_caps *caps,
		struct err *e)
{
	static char lacks[320]; /* as long as @caps: the process has one GPU */
	const struct can own = {c->gpu->vendor.nccl, c->gpu->capability};
	struct can *all = calloc((size_t)w->size, sizeof(*all));
	int result = -1;

	if (!all)
		return err_sys(e, "no memory for %d ranks", w->size);
	caps->types = DT_ALL;
	caps->lacks_types = NULL;
	if (!w->exchange(w->arg, &own, sizeof(own), all, e))
		result = 0;
	for (int r = 0; r < w->size && !result && !caps->lacks_types; r++) {
		if (does(&all[r]))
			continue;
		say(c, r, &all[r], lacks, sizeof(lacks));
		caps->types = DT_COMMON;
		caps->lacks_types = lacks;
	}
	free(all);
	return result;
}
