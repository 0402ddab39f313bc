#include "bench/train/who.h"

#include "bench/comm/backend.h"
#include "bench/ranks/hosts.h"
#include "bench/train/carrier.h"
#include "lib/net/own_addr.h"

static const char *interface_of(const char *address, struct arena *a)
{
	union addr at;

	return addr_parse(address, &at) ? NULL : own_addr_interface(&at, a);
}

/* Machines that were made of one image have one name, and addresses of their own. */
void who_tell_apart(struct who *w, struct arena *a)
{
	size_t n = (size_t)w->size;
	const char **names = arena_alloc(a, n * sizeof(*names)),
		   **addresses = arena_alloc(a, n * sizeof(*addresses)),
		   **at = arena_alloc(a, n * sizeof(*at));
	struct hosts h;

	for (size_t i = 0; i < n; i++) {
		names[i] = w->peers[i].host;
		addresses[i] = w->peers[i].address;
	}
	hosts_at(names, addresses, n, a, &h, at);
	for (size_t i = 0; i < n; i++)
		w->peers[i].at = at[i];
	w->hosts = (int)h.n;
}

struct who who_of_comm(const struct comm *c, struct arena *a)
{
	struct who w = {.size = c ? c->size : 0};

	if (!c)
		return w;
	w.backend = comm_caps(c)->backend;
	w.carrier = backend_word(w.backend);
	w.scatters = comm_caps(c)->kinds >> COLL_REDUCE_SCATTER & 1;
	w.transport = arena_strdup(a, comm_transport(c));
	w.peers = arena_alloc(a, (size_t)w.size * sizeof(*w.peers));
	for (int i = 0; i < w.size; i++) {
		const struct comm_peer *p = comm_peer(c, i);

		w.peers[i] = (struct who_peer){.host = arena_strdup(a, p->host),
					       .address = arena_strdup(a, p->address),
					       .device = streq(w.backend, "nccl") && p->device
								 ? arena_strdup(a, p->device)
								 : "cpu"};
	}
	who_tell_apart(&w, a);
	w.interface = interface_of(w.peers[0].address, a);
	return w;
}

/* The number of "NVIDIA H200 (GPU 3)". */
static void name_gpus(struct rdzv *z, struct arena *a, struct who *w)
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

struct who who_trained(const struct carrier *c, struct rdzv *z, bool on_gpu, struct arena *a)
{
	struct who w = who_of_comm(c->gpu_comm ? c->gpu_comm : c->comm, a);

	if (on_gpu)
		name_gpus(z, a, &w);
	for (int i = 0; c->interfaces && i < w.size; i++)
		w.peers[i].interface = c->interfaces[i];
	w.note = c->note;
	w.fix = c->fix;
	return w;
}

struct who who_met(const struct carrier *c, struct rdzv *z, struct arena *a)
{
	const struct comm_plugin *by = c->gpu_plugin ?: c->plugin;
	struct who w = {.backend = by ? by->name : "auto"};
	const struct rdzv_member *m;
	struct err unknown;
	size_t n;

	if (rdzv_members(z, &m, &n, &unknown))
		return w;
	w.size = (int)n;
	w.peers = arena_alloc(a, n * sizeof(*w.peers));
	for (size_t i = 0; i < n; i++)
		w.peers[i] = (struct who_peer){.host = arena_strdup(a, m[i].host),
					       .address = arena_strdup(a, m[i].data_addr)};
	who_tell_apart(&w, a);
	return w;
}
