/*
 * By which of its addresses a rank wants to be asked: the one that NCCL was told to publish, else
 * that of its best card, unless none of the others is in that card's network, nor behind it, and
 * some are in another card's.
 */
#include "probes/port/mesh_self.h"

#include "lib/host/leads.h"

/* What NCCL would publish here is of @family. */
static bool nccl_publishes(const struct mesh_self *s, int family)
{
	struct prediction p;
	union addr x;

	rules_find("nccl")->predict(&s->f->in, &p);
	return p.reachable && p.address && !addr_parse(p.address, &x) && x.sa.sa_family == family;
}

/* No wire is at it, and no packet comes in by it: its addresses are reached by the cards. */
static bool is_made(const struct inventory *inv, const struct iface *i)
{
	return i->kind == IFACE_LOOPBACK || i->kind == IFACE_DUMMY ||
	       (i->kind == IFACE_BRIDGE && !leads_has_port(inv, i));
}

/* Hosts that speak BGP have their address on lo, or on what is made for it, and are reached by it.
 */
static void take_own(struct mesh_self *s, const union addr *at)
{
	const struct iface_addr *x = inventory_by_addr(&s->f->inv, at);

	if (x && is_made(&s->f->inv, x->iface)) { /* of a card something is amiss */
		s->local.s.addr = x;
		s->local.s.iface = x->iface;
	}
}

/* What NCCL was told, here, it would publish. Else the run's data has the family that most hosts
 * are reached by. Where this host's best interface has none of it, and NCCL would publish another
 * one that has, the others are told that one. */
int mesh_choose_address(struct mesh_self *s, struct err *e)
{
	const struct rdzv_member *m;
	union addr data;
	size_t n;

	suggest_by_rank(&s->f->in, &s->local.s);
	s->local.told = suggest_as_told(&s->f->in, &s->local.s);
	if (s->local.told)
		return 0;
	if (rdzv_members(s->rdzv, &m, &n, e))
		return -1;
	if (addr_parse(m[s->me].data_addr, &data) || addr_class(&data) == ADDR_LOOPBACK)
		return 0;
	if (!s->local.s.addr)
		take_own(s, &data);
	else if (data.sa.sa_family != s->local.s.addr->addr.sa.sa_family &&
		 nccl_publishes(s, data.sa.sa_family))
		suggest_by_family(&s->f->in, data.sa.sa_family, &s->local.s);
	return 0;
}

/* ---- networks that do not meet ---- */
static const struct iface_addr *nth_address(const struct mesh_self *s, size_t k)
{
	const candidate_list *all = &s->local.s.candidates;

	if (!k)
		return s->local.s.addr;
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].usable && all->v[i].addr && all->v[i].addr != s->local.s.addr && !--k)
			return all->v[i].addr;
	return NULL;
}

void mesh_put_nets(const struct mesh_self *s, struct mesh_card *c)
{
	const struct iface_addr *x;

	for (size_t k = 0; k < MESH_NETS && (x = nth_address(s, k)); k++)
		c->nets[k] = (struct mesh_net){.at = x->addr, .prefix = x->prefix};
}

static bool has_in(const struct mesh_net *net, const struct mesh_card *other)
{
	for (size_t k = 0; k < MESH_NETS; k++)
		if (other->nets[k].at.sa.sa_family == net->at.sa.sa_family &&
		    addr_in_subnet(&other->nets[k].at, &net->at, net->prefix))
			return true;
	return false;
}

/* So many other hosts are in its @k-th network. */
static size_t meets(const struct mesh_self *s, size_t rank, size_t k)
{
	const struct mesh_net *net = &s->cards[rank].nets[k];
	size_t n = 0;

	for (size_t i = 0; i < s->n && net->at.sa.sa_family; i++)
		n += i != rank && !s->cards[i].idle && has_in(net, &s->cards[i]);
	return n;
}

/* The network of @rank where most others are, if none is in that of its best card; 0: it stays. */
static size_t better(const struct mesh_self *s, size_t rank)
{
	size_t best = 0, most = 0;

	if (s->cards[rank].idle || meets(s, rank, 0))
		return 0;
	for (size_t k = 1; k < MESH_NETS; k++) {
		size_t n = meets(s, rank, k);

		if (n > most) {
			most = n;
			best = k;
		}
	}
	return best;
}

bool mesh_is_apart(const struct mesh_self *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (better(s, i))
			return true;
	return false;
}

/* Somebody's address is behind our best card: networks that routers join. */
static bool leads_to_others(struct mesh_self *s)
{
	const struct iface_addr *mine = s->local.s.addr;
	struct err ignored;
	struct route x;

	for (size_t i = 0; i < s->n; i++)
		if (i != s->me && s->addrs[i].sa.sa_family == mine->addr.sa.sa_family &&
		    !netlink_route(&s->f->nl, &s->addrs[i], 0, NULL, &x, &ignored) && x.reachable &&
		    x.oif == mine->iface->index)
			return true;
	return false;
}

void mesh_come_together(struct mesh_self *s)
{
	size_t k = better(s, s->me);
	const struct iface_addr *x = k ? nth_address(s, k) : NULL;

	if (!x || leads_to_others(s))
		return;
	if (s->local.told) { /* NCCL would publish it, too: that is what is wrong */
		s->astray = x->iface->name;
		return;
	}
	s->local.s.addr = x;
	s->local.s.iface = x->iface;
}
