/* The proof behind a suggestion: from every candidate interface to every peer,
 * a route and a TCP answer. A refusal is an answer. */
#include "probes/iface/prove.h"

#include "lib/core/log.h"
#include "lib/core/units.h"
#include "probes/iface/facts.h"

enum { DEFAULT_PORT = 29500 };

/*
 * Silence is not progress: what has not been answered at once or when it was asked again, one and
 * three seconds later, is no way for a job. Who asks for a longer deadline than usual waits for
 * its due part.
 */
static uint64_t patience(uint64_t deadline_ns)
{
	static const uint64_t least = 4 * NS_PER_S;
	uint64_t part = deadline_ns / 10 * 4;

	return part > least ? part : deadline_ns < least ? deadline_ns : least;
}

/* The address that @i would send from to @to: same family, fe80 only to fe80. */
static const struct iface_addr *source_for(const struct inventory *inv, const struct iface *i,
					   const union addr *to)
{
	for (size_t k = 0; k < inv->addrs.n; k++) {
		const struct iface_addr *x = &inv->addrs.v[k];

		if (x->iface == i && x->addr.sa.sa_family == to->sa.sa_family &&
		    (addr_class(&x->addr) == ADDR_LINKLOCAL) == (addr_class(to) == ADDR_LINKLOCAL))
			return x;
	}
	return NULL;
}

static void plan_one(struct proof *p, size_t cand, size_t peer, const union addr *to)
{
	struct iface *i = p->cands->v[cand].iface;
	const struct iface_addr *from = source_for(p->in->inv, i, to);
	struct scan_from *device;
	struct scan_probe *t;
	struct route route;
	struct err ignored = {0};

	if (!from)
		return;
	if (netlink_route(p->nl, to, i->index, NULL, &route, &ignored) || !route.reachable)
		return;
	trial_at(p, cand, peer)->has_route = true;
	device = ARENA_NEW(p->a, struct scan_from);
	*device = (struct scan_from){i->name, &from->addr};
	t = LIST_ADD(p->a, &p->probes);
	*t = (struct scan_probe){.to = *to, .from = device};
	if (!addr_port(&t->to))
		addr_set_port(&t->to, p->peers[peer].port ? p->peers[peer].port : DEFAULT_PORT);
	*LIST_ADD(p->a, &p->owner) = cand * p->npeers + peer;
}

static void collect(struct proof *p)
{
	for (size_t k = 0; k < p->probes.n; k++) {
		const struct scan_probe *got = &p->probes.v[k];
		struct trial *t = &p->trials[p->owner.v[k]];
		bool better =
			t->to == NULL ||
			((got->state == TCP_OPEN || got->state == TCP_REFUSED) && !answered(t));

		if (better)
			*t = (struct trial){got->state,	  got->error,	got->took_us, &got->to,
					    t->has_route, t->answered4, t->answered6};
		if (got->state == TCP_OPEN || got->state == TCP_REFUSED)
			*(got->to.sa.sa_family == AF_INET ? &t->answered4 : &t->answered6) = true;
	}
}

static void keep_rows(const struct proof *p, struct suggestion *s)
{
	for (size_t k = 0; k < p->probes.n; k++) {
		const struct scan_probe *got = &p->probes.v[k];
		union addr to = got->to;
		struct addr_text at;

		addr_set_port(&to, 0);
		*LIST_ADD(p->a, &s->proof) =
			(struct proof_row){.peer = p->peers[p->owner.v[k] % p->npeers].given,
					   .address = arena_strdup(p->a, addr_print(&to, &at)),
					   .iface = p->cands->v[p->owner.v[k] / p->npeers].iface,
					   .state = tcp_state_name(got->state),
					   .ms = (double)got->took_us / 1e3};
	}
}

bool proof_reaches_all(const struct proof *p, size_t cand)
{
	for (size_t k = 0; k < p->npeers; k++)
		if (!answered(trial_at(p, cand, k)))
			return false;
	return true;
}

size_t proof_count(const struct proof *p, size_t peer, enum tcp_state state)
{
	size_t n = 0;

	for (size_t c = 0; c < p->nusable; c++)
		n += trial_at(p, c, peer)->to && trial_at(p, c, peer)->state == state;
	return n;
}

bool proof_cut_short(const struct proof *p, size_t peer)
{
	return proof_count(p, peer, TCP_PENDING) || !p->peers[peer].addrs.n;
}

static bool reaches_all_by(const struct proof *p, size_t cand, int family)
{
	for (size_t k = 0; k < p->npeers; k++) {
		const struct trial *t = trial_at(p, cand, k);

		if (!(family == AF_INET ? t->answered4 : t->answered6))
			return false;
	}
	return true;
}

/* Peers are told one address: of the family that all of them can use. */
static void settle_families(struct proof *p)
{
	for (size_t c = 0; c < p->nusable; c++) {
		struct candidate *x = &p->cands->v[c];
		const struct iface_addr *own = x->addr;

		if (!x->other || reaches_all_by(p, c, own->addr.sa.sa_family) ||
		    !reaches_all_by(p, c, x->other->addr.sa.sa_family))
			continue;
		x->addr = x->other;
		x->other = own;
	}
}

/* Among interfaces of one kind that reach everybody: speed, then MTU, then the rank they came with.
 * A speed that is not known (virtio, ENA) is no reason against an interface. */
static bool faster(const struct iface *x, const struct iface *y)
{
	if (x->speed_mbps > 0 && y->speed_mbps > 0 && x->speed_mbps != y->speed_mbps)
		return x->speed_mbps > y->speed_mbps;
	return x->mtu > y->mtu;
}

/* They come best kind first: a tunnel through a NIC has no more to give than the NIC, whatever it
 * says, a NAT leads out, and nobody in, and rails are for RDMA. */
static const struct candidate *best(struct proof *p, size_t *ret_index)
{
	const struct candidate *win = NULL;

	for (size_t c = 0; c < p->nusable; c++) {
		const struct candidate *x = &p->cands->v[c];

		if (!proof_reaches_all(p, c))
			continue;
		if (win && (x->score[RANK_KIND] != win->score[RANK_KIND] ||
			    x->score[RANK_FRONT] != win->score[RANK_FRONT]))
			break;
		inventory_detail(p->in->inv, x->iface);
		if (!win || faster(x->iface, win->iface)) {
			win = x;
			*ret_index = c;
		}
	}
	return win;
}

/* "169.254.7.2" is on a cable to it, or in a network without any DHCP server. */
static bool is_linklocal_asked(const struct proof *p)
{
	for (size_t k = 0; k < p->npeers; k++)
		for (size_t x = 0; x < p->peers[k].addrs.n; x++)
			if (addr_is_linklocal4(&p->peers[k].addrs.v[x]))
				return true;
	return false;
}

int suggest_by_peers(struct facts *f, const peer_list *peers, uint64_t deadline_ns,
		     struct report *r, struct suggestion *ret, struct err *e)
{
	struct proof p = {.a = f->in.inv->a,
			  .in = &f->in,
			  .nl = &f->nl,
			  .peers = peers->v,
			  .npeers = peers->n};
	const struct scan_opts o = {.patience_ns = patience(deadline_ns)};
	const struct candidate *win;
	size_t winner = SIZE_MAX;

	*ret = (struct suggestion){.a = p.a};
	suggest_rank(p.in, ret);
	p.cands = &ret->candidates;
	if (is_linklocal_asked(&p))
		rank_add_linklocal(p.cands);
	while (p.nusable < p.cands->n && p.cands->v[p.nusable].usable)
		p.nusable++;
	p.trials = arena_alloc(p.a, (p.nusable * p.npeers + 1) * sizeof(*p.trials));
	for (size_t c = 0; c < p.nusable; c++)
		for (size_t k = 0; k < p.npeers; k++)
			for (size_t x = 0; x < p.peers[k].addrs.n; x++)
				plan_one(&p, c, k, &p.peers[k].addrs.v[x]);
	log_progress("waiting for peers to answer", 0, p.npeers);
	if (scan_tcp(p.probes.v, p.probes.n, &o, e))
		return -1;
	log_progress_end();
	collect(&p);
	keep_rows(&p, ret);
	for (size_t k = 0; k < p.npeers; k++)
		ret->cut_short |= proof_cut_short(&p, k);
	ret->tried = p.nusable;
	settle_families(&p);
	win = best(&p, &winner);
	proof_explain(&p, winner, win != NULL);
	proof_report(&p, r, win, winner);
	if (!win) {
		if (p.nusable && !ret->cut_short)
			proof_report_none(&p, r);
		return 0;
	}
	ret->proven = true;
	ret->why = win->why;
	suggest_choose(p.in, win, ret);
	return 0;
}
