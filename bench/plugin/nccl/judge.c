/* What is wrong with the way that NCCL took between two ranks. */
#include "bench/plugin/nccl/nccl.h"

#include "lib/host/nccl_alike.h"
#include "lib/host/rdma.h"

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

/* --- sockets --------------------------------------------------------------------------- */

/* What there is in this host, and works; RDMA_UNKNOWN: nothing. EFA is not NCCL's own to use. */
static enum rdma_link find_rdma(struct arena *a)
{
	enum rdma_link found = RDMA_UNKNOWN;
	rdma_list all = {0};

	rdma_read(a, &all);
	for (size_t i = 0; i < all.n; i++)
		for (size_t k = 0; k < all.v[i].ports.n; k++) {
			const struct rdma_port *p = &all.v[i].ports.v[k];

			if (p->active && (found == RDMA_UNKNOWN || found == RDMA_EFA))
				found = p->link == RDMA_UNKNOWN ? RDMA_INFINIBAND : p->link;
		}
	return found;
}

/* The variable by which somebody wanted it so; NULL: none. */
static const char *wanted_by(struct arena *a, bool efa)
{
	const char *name = efa ? "NCCL_NET_PLUGIN" : "NCCL_IB_DISABLE";
	const char *net = nccl_setting_here("NCCL_NET", a), *value = nccl_setting_here(name, a);

	if (net && streq(net, "socket"))
		return "NCCL_NET";
	return value && !streq(value, "0") && (!efa || streq(value, "none")) ? name : NULL;
}

static struct comm_finding say_sockets(struct arena *a, const char *from, const char *to, bool efa)
{
	const char *by = wanted_by(a, efa), *what = efa ? "EFA" : "an active RDMA port";

	if (by)
		return (struct comm_finding){
			.check = "nccl.net",
			.message = arena_printf(a,
						"%s reaches %s over NET/Socket, because %s is set; "
						"this host has %s",
						from, to, by, what),
			.fix = arena_printf(a, "unset %s  # on all hosts, if it is not on purpose",
					    by),
			.warns = true};
	return (struct comm_finding){
		.check = "nccl.net",
		.message =
			arena_printf(a, "%s reaches %s over NET/Socket although this host has %s",
				     from, to, what),
		.fix = efa ? "export NCCL_NET=\"AWS Libfabric\"  # then it fails loudly without "
			     "aws-ofi-nccl, which `windsock` looks for (efa.plugin)"
			   : "export NCCL_NET=IB  # then it fails loudly; NCCL_DEBUG=INFO says "
			     "why"};
}

static struct comm_finding say_one_sided(const struct nccl_comm *c, struct arena *a,
					 const struct transport_pair *p, const char *from,
					 const char *to)
{
	return (struct comm_finding){
		.check = "nccl.gdr",
		.message = arena_printf(a, "%s to %s goes by %s with GPUDirect at the %s end only",
					from, to, p->via, p->send_gdr ? "sending" : "receiving"),
		.fix = arena_printf(a, "sudo modprobe nvidia-peermem  # on %s",
				    c->cards.all[p->send_gdr ? p->to : p->from].place.host)};
}

bool nccl_judge(const struct comm *comm, struct comm_finding *ret)
{
	struct nccl_comm *c = CONTAINER_OF(comm, struct nccl_comm, comm);
	struct arena *a = &c->arena;
	const transport_list pairs = to_judge(c);
	enum rdma_link rdma = find_rdma(a);
	const struct transport_pair *p;
	char from[192], to[192];
	enum transport_trouble t = transport_judge(&pairs, rdma != RDMA_UNKNOWN, &p);

	if (t == TRANSPORT_FINE)
		return false;
	(void)cards_name(&c->cards, p->from, from, sizeof(from));
	(void)cards_name(&c->cards, p->to, to, sizeof(to));
	*ret = t == TRANSPORT_SOCKETS ? say_sockets(a, from, to, rdma == RDMA_EFA)
				      : say_one_sided(c, a, p, from, to);
	ret->subject = arena_printf(a, "%d -> %d", p->from, p->to);
	return true;
}
