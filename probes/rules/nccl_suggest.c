#include "probes/rules/nccl.h"
#include "probes/suggest.h"

#include <math.h>

/* The first address that NCCL would take when told exactly this name, or NULL. */
static const struct iface_addr *taken_for(const struct inventory *inv, const char *list, int family)
{
	const struct iface_addr *v[NCCL_MAX_IFS];
	struct nccl_ifspec spec;

	nccl_ifspec_parse(list, &spec);
	return nccl_select(inv, &spec, family, v) ? v[0] : NULL;
}

/* The family has to be said where the kernel's order or a setting would give the other one. */
static void suggest_family(const struct rules_input *in, const char *list, struct suggestion *s)
{
	const char *set = nccl_value(in, "NCCL_SOCKET_FAMILY");
	const struct iface_addr *first = taken_for(in->inv, list, nccl_family_parse(set));
	int family = s->addr->addr.sa.sa_family;
	bool v6 = family == AF_INET6;

	if (!first || first->addr.sa.sa_family != family)
		suggest_env(s, "NCCL_SOCKET_FAMILY",
			    v6 ? "the interface's IPv4 address would be taken first"
			       : "another family is set",
			    "%s", v6 ? "AF_INET6" : "AF_INET");
	first = taken_for(in->inv, list, family);
	if (first && !addr_equal(&first->addr, &s->addr->addr)) {
		struct addr_text t;

		suggest_left_out(s,
				 "NCCL will tell peers %s, the first address of %s; no setting "
				 "chooses another",
				 addr_print(&first->addr, &t), first->label);
	}
}

/* An exact name fits the label alone; an interface that has aliases only needs the prefix. */
static const char *list_for(const struct rules_input *in, struct suggestion *s)
{
	const char *list = arena_printf(s->a, "=%s", s->iface->name);

	if (taken_for(in->inv, list, 0) || !s->addr || streq(s->addr->label, s->iface->name))
		return list;
	suggest_left_out(s, "the exact form =%s would match nothing: its addresses are labelled %s",
			 s->iface->name, s->addr->label);
	return s->iface->name;
}

struct port_sum {
	double infiniband, roce; /* Gb/s of the usable ports of each kind */
	size_t usable, left_out, roce_ports;
};

static bool is_usable(const struct rdma_port *p)
{
	return nccl_ib_port_counts(p) && !(p->link == RDMA_ROCE && p->gids_read && !p->gids.n);
}

static struct port_sum sum_ports(const rdma_list *rdma)
{
	struct port_sum s = {0};

	for (size_t d = 0; d < rdma->n; d++)
		for (size_t i = 0; i < rdma->v[d].ports.n; i++) {
			const struct rdma_port *p = &rdma->v[d].ports.v[i];
			double rate = isnan(p->rate_gbps) ? 1 : p->rate_gbps;

			if (p->link != RDMA_INFINIBAND && p->link != RDMA_ROCE)
				continue;
			s.roce_ports += p->link == RDMA_ROCE;
			if (!is_usable(p)) /* NCCL itself passes over the others that are not */
				s.left_out += nccl_ib_port_counts(p);
			else if (p->link == RDMA_INFINIBAND)
				s.infiniband += rate, s.usable++;
			else
				s.roce += rate, s.usable++;
		}
	return s;
}

static void suggest_hca(const rdma_list *rdma, struct suggestion *s)
{
	struct port_sum sum = sum_ports(rdma);
	bool mixed = sum.infiniband > 0 && sum.roce > 0;
	enum rdma_link keep = sum.infiniband >= sum.roce ? RDMA_INFINIBAND : RDMA_ROCE;
	struct text list;
	bool first = true;

	if (sum.roce_ports)
		suggest_left_out(s,
				 "NCCL_IB_GID_INDEX is not set: NCCL finds the entry itself, and a "
				 "pinned one breaks where GID tables differ");
	if (!sum.usable || (!sum.left_out && !mixed))
		return;
	text_init(&list, s->a);
	for (size_t d = 0; d < rdma->n; d++)
		for (size_t i = 0; i < rdma->v[d].ports.n; i++) {
			const struct rdma_port *p = &rdma->v[d].ports.v[i];

			if (!is_usable(p) || (mixed && p->link != keep))
				continue;
			text_addf(&list, "%s%s:%u", first ? "=" : ",", rdma->v[d].name, p->number);
			first = false;
		}
	suggest_env(s, "NCCL_IB_HCA",
		    mixed ? "InfiniBand and RoCE ports cannot talk to each other"
			  : "ports that have no GID are left out",
		    "%s", list.s);
}

void nccl_suggest(const struct rules_input *in, struct suggestion *s)
{
	const char *list = list_for(in, s);

	suggest_env(s, "NCCL_SOCKET_IFNAME", NULL, "%s", list);
	if (s->addr)
		suggest_family(in, list, s);
	if (in->rdma)
		suggest_hca(in->rdma, s);
	if (nccl_value(in, "NCCL_COMM_ID"))
		suggest_left_out(s,
				 "NCCL_COMM_ID is set and decides the bootstrap interface whatever "
				 "NCCL_SOCKET_IFNAME says: unset it");
}
