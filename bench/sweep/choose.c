/* --backend auto: NCCL where every rank has a GPU and can load it, else host memory over TCP. */
#include "bench/sweep/rank.h"

#include "bench/dev/gpus.h"

/* This rank's part: is there a GPU, and what NCCL needs beside it? Then @ret_nccl is it. */
static int look(struct rank *r, const struct comm_world *w, struct gpus *ret,
		const struct comm_plugin **ret_nccl, struct err *e)
{
	const struct comm_plugin *nccl;
	struct err lacks = {0};
	char text[400];

	if (gpus_look(r->a, ret, e))
		return -1;
	if (!ret->n)
		return 0;
	nccl = backend_find("nccl", r->a, &lacks);
	if (nccl && !nccl->probe(w, text, sizeof(text), &lacks)) {
		*ret_nccl = nccl;
		return 0;
	}
	if (lacks.kind != ERR_ABSENT) {
		*e = lacks;
		return -1;
	}
	*ret = (struct gpus){.note = arena_printf(r->a, "%s here and NCCL cannot use %s: %s",
						  ret->n == 1 ? "a GPU is" : "GPUs are",
						  ret->n == 1 ? "it" : "them", lacks.msg),
			     .fix = err_fix(&lacks, r->a),
			     .is_wrong = true};
	return 0;
}

static int agree(struct rank *r, const struct gpus *own, bool *ret_nccl, struct gpus *ret,
		 struct err *e)
{
	struct gpu_word word = gpu_word(own),
			*all = arena_alloc(r->a, (size_t)r->w->world.size * sizeof(*all));
	const struct rdzv_member *members;
	size_t n;

	if (rdzv_members(r->w->rdzv, &members, &n, e) ||
	    rdzv_all_gather(r->w->rdzv, &word, sizeof(word), all, e))
		return -1;
	*ret_nccl = gpus_agree(all, sizeof(*all), members, r->w->world.size, r->a, ret);
	return 0;
}

static void say_tcp(struct rank *r, const struct gpus *why)
{
	*LIST_ADD(r->a, &r->notes) =
		why->note ? arena_printf(r->a,
					 "Host memory over TCP was measured, not NCCL and not the "
					 "GPU: %s",
					 why->note)
			  : "Host memory over TCP was measured, not NCCL: there is no NVIDIA GPU.";
	if (!why->is_wrong)
		return;
	r->unused = (struct comm_finding){.check = "coll.backend",
					  .subject = "tcp",
					  .message = why->note,
					  .fix = why->fix,
					  .warns = true};
}

const struct comm_plugin *rank_backend(struct rank *r, const struct comm_world *w, struct err *e)
{
	const struct comm_plugin *nccl = NULL;
	struct gpus own = {0}, common;
	bool all_have;

	if (!streq(r->o->backend, "auto"))
		return backend_find(r->o->backend, r->a, e);
	if (look(r, w, &own, &nccl, e) || agree(r, &own, &all_have, &common, e))
		return NULL;
	if (all_have)
		return nccl;
	say_tcp(r, &common);
	return &comm_tcp;
}
