#include "bench/train/who.h"

/* The number of "NVIDIA H200 (GPU 3)". */
static void name_gpus(struct rdzv *z, struct arena *a, struct say_world *w)
{
	const struct rdzv_member *m;
	struct err unknown;
	size_t n;

	if (rdzv_members(z, &m, &n, &unknown))
		return;
	for (int i = 0; i < w->size && (size_t)i < n; i++) {
		const char *at = m[i].device ? strstr(m[i].device, "(GPU ") : NULL;

		if (at)
			w->peers[i].gpu =
				arena_printf(a, "%.*s", (int)strcspn(at + 1, ")"), at + 1);
	}
}

struct say_world who_trained(const struct carrier *c, struct rdzv *z, bool on_gpu, struct arena *a)
{
	struct say_world w = say_world(c->gpu_comm ? c->gpu_comm : c->comm, a);

	if (on_gpu)
		name_gpus(z, a, &w);
	for (int i = 0; c->interfaces && i < w.size; i++)
		w.peers[i].interface = c->interfaces[i];
	w.note = c->note;
	w.fix = c->fix;
	return w;
}

struct say_world who_met(const struct carrier *c, struct rdzv *z, struct arena *a)
{
	const struct comm_plugin *by = c->gpu_plugin ?: c->plugin;
	struct say_world w = {.backend = by ? by->name : "auto"};
	const struct rdzv_member *m;
	struct err unknown;
	size_t n;

	if (rdzv_members(z, &m, &n, &unknown))
		return w;
	w.size = (int)n;
	w.peers = arena_alloc(a, n * sizeof(*w.peers));
	for (size_t i = 0; i < n; i++)
		w.peers[i] = (struct say_peer){.host = arena_strdup(a, m[i].host),
					       .address = arena_strdup(a, m[i].data_addr)};
	say_tell_apart(&w, a);
	return w;
}
