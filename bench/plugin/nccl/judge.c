/* What is wrong with the way that NCCL took between two ranks. */
#include "bench/plugin/nccl/nccl.h"

/* Where two ranks of one machine take the network because they share GPUs, and so had to look
 * like two hosts. */
static bool is_made_so(const struct nccl_comm *c, const struct transport_pair *p)
{
	const struct card *all = c->cards.all;

	return comm_place_is_beside(&all[p->from].place, &all[p->to].place) &&
	       (cards_sharers(&c->cards, p->from) > 1 || cards_sharers(&c->cards, p->to) > 1);
}

/* Before Ampere NCCL sends by way of the host where GPUs have no NVLink, and only receives by
 * GPUDirect: that is as it should be. */
static bool is_as_meant(const struct nccl_comm *c, const struct transport_pair *p)
{
	enum { AMPERE = 80 };

	return p->sent && !p->send_gdr && p->received && p->receive_gdr && c->gpu->capability > 0 &&
	       c->gpu->capability < AMPERE;
}

static transport_list to_judge(struct nccl_comm *c)
{
	transport_list list = {0};

	for (size_t i = 0; i < c->pairs.n; i++) {
		const struct transport_pair *p = &c->pairs.v[i];

		if (p->from < c->comm.size && p->to < c->comm.size && !is_made_so(c, p) &&
		    !is_as_meant(c, p))
			*LIST_ADD(&c->arena, &list) = *p;
	}
	return list;
}

bool nccl_judge(const struct comm *comm, struct comm_finding *ret)
{
	struct nccl_comm *c = CONTAINER_OF(comm, struct nccl_comm, comm);
	const transport_list pairs = to_judge(c);
	const struct transport_pair *p;
	char from[192], to[192];
	enum transport_trouble t = transport_judge(&pairs, c->has_rdma, &p);

	if (t == TRANSPORT_FINE)
		return false;
	(void)cards_name(&c->cards, p->from, from, sizeof(from));
	(void)cards_name(&c->cards, p->to, to, sizeof(to));
	*ret = (struct comm_finding){.check = t == TRANSPORT_SOCKETS ? "nccl.net" : "nccl.gdr",
				     .subject =
					     arena_printf(&c->arena, "%d -> %d", p->from, p->to)};
	if (t == TRANSPORT_SOCKETS) {
		ret->message = arena_printf(&c->arena,
					    "%s reaches %s over NET/Socket although this host has "
					    "an active RDMA port",
					    from, to);
		ret->fix = "export NCCL_NET=IB  # then it fails loudly; NCCL_DEBUG=INFO says why";
	} else {
		ret->message = arena_printf(
			&c->arena, "%s to %s goes by %s with GPUDirect at the %s end only", from,
			to, p->via, p->send_gdr ? "sending" : "receiving");
		ret->fix = arena_printf(&c->arena, "sudo modprobe nvidia-peermem  # on %s",
					c->cards.all[p->send_gdr ? p->to : p->from].place.host);
	}
	return true;
}
