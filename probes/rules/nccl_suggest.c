#include "probes/iface/suggest.h"
#include "probes/rules/nccl.h"

#include <linux/if_addr.h>
#include <math.h>

/* The address that NCCL tells peers when told @list, where that leaves nothing but @i; or NULL. */
static const struct iface_addr *first_of(const struct rules_input *in, const struct iface *i,
					 const char *list, int family)
{
	const struct iface_addr *v[NCCL_MAX_IFS];
	struct nccl_ifspec spec;
	size_t n;

	nccl_ifspec_parse(list, &spec);
	/* a value of one character is passed over */
	n = strlen(list) > 1 ? nccl_select(in->inv, &spec, family, in->nccl_version, v) : 0;
	for (size_t k = 0; k < n; k++)
		if (v[k]->iface != i)
			return NULL;
	return n ? v[0] : NULL;
}

enum fit { FIT_ANY, FIT_USABLE, FIT_WANTED };

/* What cannot be bound yet (it is being checked for duplicates) never fits. */
static bool fits(const struct iface_addr *x, const struct iface_addr *want, enum fit fit)
{
	if (!x || ((x->flags & IFA_F_TENTATIVE) && !(x->flags & IFA_F_OPTIMISTIC)))
		return false;
	if (fit == FIT_WANTED)
		return want && addr_equal(&x->addr, &want->addr);
	return fit == FIT_ANY || iface_addr_is_usable(x);
}

/* With @family 0 none is said, so it has to be right with and without the one that is set. */
static bool try_naming(const struct rules_input *in, const struct iface *i,
		       const struct iface_addr *want, enum fit fit, struct nccl_naming *n)
{
	int set = nccl_family_parse(nccl_value(in, "NCCL_SOCKET_FAMILY"));

	n->first = n->list ? first_of(in, i, n->list, n->family) : NULL;
	if (!fits(n->first, want, fit))
		return false;
	return n->family || !set || first_of(in, i, n->list, set) == n->first;
}

bool nccl_naming_for(const struct rules_input *in, const struct iface *i,
		     const struct iface_addr *want, struct nccl_naming *ret)
{
	static const int families[] = {0, AF_INET, AF_INET6};
	size_t cut = strcspn(i->name, ",:");
	const char *lists[2] = {
		i->name[cut] ? NULL : arena_printf(in->inv->a, "=%s", i->name),
		/* an empty entry does not count, and makes a single letter long enough */
		arena_printf(in->inv->a, "%.*s%s", (int)cut, i->name, cut == 1 ? "," : ""),
	};

	for (enum fit fit = FIT_WANTED;; fit--) {
		for (size_t l = 0; l < ARRAY_LEN(lists); l++)
			for (size_t f = 0; f < ARRAY_LEN(families); f++) {
				*ret = (struct nccl_naming){lists[l], families[f], NULL};
				if (try_naming(in, i, want, fit, ret))
					return true;
			}
		if (fit == FIT_ANY)
			return false;
	}
}

struct port_sum {
	double infiniband, roce; /* Gb/s of the usable ports of each kind */
	size_t usable, left_out, roce_ports;
};

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
			if (!nccl_ib_port_connects(
				    p)) /* NCCL itself passes over the others that are not */
				s.left_out += nccl_ib_port_counts(p);
			else if (p->link == RDMA_INFINIBAND)
				s.infiniband += rate, s.usable++;
			else
				s.roce += rate, s.usable++;
		}
	return s;
}

static void say_gid_index(const struct rules_input *in, struct suggestion *s)
{
	if (nccl_version(in->nccl_version) < NCCL_VERSION_GID)
		suggest_left_out(s,
				 "NCCL_IB_GID_INDEX is not set: this NCCL, older than 2.21, takes "
				 "entry 0, which is not RoCE v2; the number to set differs between "
				 "hosts: show_gids, or install a newer NCCL");
	else
		suggest_left_out(s,
				 "NCCL_IB_GID_INDEX is not set: NCCL finds the entry itself, and a "
				 "pinned one breaks where GID tables differ");
}

static void suggest_hca(const struct rules_input *in, struct suggestion *s)
{
	const rdma_list *rdma = in->rdma;
	struct port_sum sum = sum_ports(rdma);
	bool mixed = sum.infiniband > 0 && sum.roce > 0;
	enum rdma_link keep = sum.infiniband >= sum.roce ? RDMA_INFINIBAND : RDMA_ROCE;
	struct text list;
	bool first = true;

	if (sum.roce_ports)
		say_gid_index(in, s);
	if (!sum.usable || (!sum.left_out && !mixed))
		return;
	text_init(&list, s->a);
	for (size_t d = 0; d < rdma->n; d++)
		for (size_t i = 0; i < rdma->v[d].ports.n; i++) {
			const struct rdma_port *p = &rdma->v[d].ports.v[i];

			if (!nccl_ib_port_connects(p) || (mixed && p->link != keep))
				continue;
			text_addf(&list, "%s%s:%u", first ? "=" : ",", rdma->v[d].name, p->number);
			first = false;
		}
	suggest_env(s, "NCCL_IB_HCA",
		    mixed ? "InfiniBand and RoCE ports cannot talk to each other"
			  : "ports that have no GID are left out",
		    "%s", list.s);
}

/* A prefix is second best: an interface that comes later may begin with it, too. */
static void say_prefix(struct suggestion *s, const struct nccl_naming *n)
{
	const char *name = s->iface->name;

	if (*n->list != '=' || !streq(n->list + 1, name))
		suggest_left_out(
			s,
			name[strcspn(name, ",:")]
				? "the exact form =%s would name something else: NCCL cuts "
				  "its lists at commas"
				: "the exact form =%s would match nothing, or no address "
				  "that peers can use: the others have labels of their own",
			name);
}

static void say_family(struct suggestion *s, const struct nccl_naming *n)
{
	bool v6 = n->family == AF_INET6;
	struct addr_text t;

	if (n->family)
		suggest_env(s, "NCCL_SOCKET_FAMILY",
			    v6 ? "the interface's IPv4 address would be taken first"
			       : "another family is set",
			    "%s", v6 ? "AF_INET6" : "AF_INET");
	if (n->first && s->addr && !addr_equal(&n->first->addr, &s->addr->addr))
		suggest_left_out(s,
				 "NCCL will tell peers %s, the first address of %s; no setting "
				 "chooses another",
				 addr_print(&n->first->addr, &t), n->first->label);
}

void nccl_suggest(const struct rules_input *in, struct suggestion *s)
{
	struct nccl_naming n;

	if (!nccl_naming_for(in, s->iface, s->addr, &n)) /* chosen all the same: say its name */
		n = (struct nccl_naming){.list = arena_printf(s->a, "=%s", s->iface->name)};
	suggest_env(s, "NCCL_SOCKET_IFNAME", NULL, "%s", n.list);
	say_prefix(s, &n);
	say_family(s, &n);
	if (in->rdma)
		suggest_hca(in, s);
	if (nccl_value(in, "NCCL_COMM_ID"))
		suggest_left_out(s,
				 "NCCL_COMM_ID is set and decides the bootstrap interface whatever "
				 "NCCL_SOCKET_IFNAME says: unset it");
}
