/* The proof behind a suggestion: from every candidate interface to every peer,
 * a route and a TCP answer. A refusal is an answer. */
#include "lib/cluster/child.h"
#include "lib/core/units.h"
#include "lib/net/probe_tcp.h"
#include "probes/iface/suggest.h"

#include <net/if.h>
#include <string.h>

enum { DEFAULT_PORT = 29500, MOST_TOLD = 4 };

struct trial { /* one candidate, one peer: the best of the peer's addresses */
	enum tcp_state state;
	int error;
	uint64_t took_ns;
	const union addr *to;
	bool has_route, bound_to_device;
	bool answered4, answered6; /* an address of either family did */
};

struct proof {
	struct arena *a;
	const struct rules_input *in;
	struct netlink *nl;
	struct peer *peers;
	size_t npeers;
	candidate_list *cands;
	size_t nusable;
	struct trial *trials; /* nusable rows of npeers */
	LIST(struct tcp_probe) probes;
	LIST(size_t) owner; /* probe -> trial */
};

static struct trial *trial_at(const struct proof *p, size_t cand, size_t peer)
{
	return &p->trials[cand * p->npeers + peer];
}

static bool answered(const struct trial *t)
{
	return t->state == TCP_OPEN || t->state == TCP_REFUSED;
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

static void plan_one(struct proof *p, size_t cand, size_t peer, const union addr *to,
		     uint64_t deadline_ns)
{
	struct iface *i = p->cands->v[cand].iface;
	const struct iface_addr *from = source_for(p->in->inv, i, to);
	struct tcp_probe *t;
	struct route route;
	struct err ignored = {0};

	if (!from)
		return;
	if (netlink_route(p->nl, to, i->index, NULL, &route, &ignored) || !route.reachable)
		return;
	trial_at(p, cand, peer)->has_route = true;
	t = LIST_ADD(p->a, &p->probes);
	*t = (struct tcp_probe){
		.to = *to, .device = i->name, .source = &from->addr, .deadline_ns = deadline_ns};
	if (!addr_port(&t->to))
		addr_set_port(&t->to, p->peers[peer].port ? p->peers[peer].port : DEFAULT_PORT);
	*LIST_ADD(p->a, &p->owner) = cand * p->npeers + peer;
}

static void collect(struct proof *p)
{
	for (size_t k = 0; k < p->probes.n; k++) {
		const struct tcp_probe *got = &p->probes.v[k];
		struct trial *t = &p->trials[p->owner.v[k]];
		bool better =
			t->to == NULL ||
			((got->state == TCP_OPEN || got->state == TCP_REFUSED) && !answered(t));

		if (better)
			*t = (struct trial){got->state,	  got->error,	got->took_ns,
					    &got->to,	  t->has_route, got->bound_to_device,
					    t->answered4, t->answered6};
		if (got->state == TCP_OPEN || got->state == TCP_REFUSED)
			*(got->to.sa.sa_family == AF_INET ? &t->answered4 : &t->answered6) = true;
	}
}

static void keep_rows(const struct proof *p, struct suggestion *s)
{
	for (size_t k = 0; k < p->probes.n; k++) {
		const struct tcp_probe *got = &p->probes.v[k];
		union addr to = got->to;
		struct addr_text at;

		addr_set_port(&to, 0);
		*LIST_ADD(p->a, &s->proof) =
			(struct proof_row){.peer = p->peers[p->owner.v[k] % p->npeers].given,
					   .address = arena_strdup(p->a, addr_print(&to, &at)),
					   .iface = p->cands->v[p->owner.v[k] / p->npeers].iface,
					   .state = tcp_state_name(got->state),
					   .ms = (double)got->took_ns / 1e6};
	}
}

static bool reaches_all(const struct proof *p, size_t cand)
{
	for (size_t k = 0; k < p->npeers; k++)
		if (!answered(trial_at(p, cand, k)))
			return false;
	return true;
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

static size_t count_reached(const struct proof *p, size_t cand)
{
	size_t n = 0;

	for (size_t k = 0; k < p->npeers; k++)
		n += answered(trial_at(p, cand, k));
	return n;
}

/* Among interfaces that reach everybody: speed, then MTU, then the rank they came with.
 * A speed that is not known (virtio, ENA) is no reason against an interface. */
static bool faster(const struct iface *x, const struct iface *y)
{
	if (x->speed_mbps > 0 && y->speed_mbps > 0 && x->speed_mbps != y->speed_mbps)
		return x->speed_mbps > y->speed_mbps;
	return x->mtu > y->mtu;
}

static const struct candidate *best(struct proof *p, size_t *ret_index)
{
	const struct candidate *win = NULL;

	for (size_t c = 0; c < p->nusable; c++) {
		if (!reaches_all(p, c))
			continue;
		inventory_detail(p->in->inv, p->cands->v[c].iface);
		if (!win || faster(p->cands->v[c].iface, win->iface)) {
			win = &p->cands->v[c];
			*ret_index = c;
		}
	}
	return win;
}

static const char *how_it_failed(struct arena *a, const struct trial *t)
{
	struct unit_buf b;

	if (t->to && t->state == TCP_PENDING)
		return "not tried to its end";
	if (!t->has_route)
		return "no route, or no address of that family";
	if (t->state == TCP_FILTERED)
		return arena_printf(a, "no answer in %s", format_duration(&b, t->took_ns));
	return arena_printf(a, "%s (%s)", tcp_state_name(t->state), strerror(t->error));
}

/* "reaches 1 of 3 peers: node1: no answer in 2 s; node2: ..." */
static const char *why_not(const struct proof *p, size_t cand)
{
	size_t missing = 0;
	struct text t;

	text_init(&t, p->a);
	text_addf(&t, "reaches %zu of %zu peers", count_reached(p, cand), p->npeers);
	for (size_t k = 0; k < p->npeers; k++)
		if (!answered(trial_at(p, cand, k)) && missing++ < MOST_TOLD)
			text_addf(&t, "%s %s: %s", missing == 1 ? ":" : ";", p->peers[k].given,
				  how_it_failed(p->a, trial_at(p, cand, k)));
	if (missing > MOST_TOLD)
		text_addf(&t, "; and %zu more", missing - MOST_TOLD);
	return t.s;
}

static void explain_candidates(struct proof *p, size_t winner, bool won)
{
	size_t n = 0;

	for (size_t c = 0; c < p->nusable; c++)
		n += reaches_all(p, c);
	for (size_t c = 0; c < p->nusable; c++) {
		struct candidate *x = &p->cands->v[c];

		x->usable = reaches_all(p, c);
		x->why = !x->usable	      ? why_not(p, c)
			 : n == 1	      ? "the only interface that reaches every peer"
			 : won && c == winner ? "reaches every peer, and is the best that does"
					      : "reaches every peer";
	}
}

static void say_reached(struct proof *p, struct report *r, size_t cand, size_t peer)
{
	const struct trial *t = trial_at(p, cand, peer);
	struct finding *f = report_find(r, "peer.reach", p->peers[peer].given);
	struct addr_text at;
	struct unit_buf b;

	finding_set(f, ST_PASS, "answers through %s in %s%s", p->cands->v[cand].iface->name,
		    format_duration(&b, t->took_ns),
		    t->state == TCP_OPEN ? ""
					 : arena_printf(p->a,
							" (%s refused it: the path works, "
							"nothing listens there)",
							addr_print_port(t->to, &at)));
	finding_value(f, (double)t->took_ns / 1e6, "ms");
	report_add(r, f);
}

/* How often the trials of @peer ended so. */
static size_t count_state(const struct proof *p, size_t peer, enum tcp_state state)
{
	size_t n = 0;

	for (size_t c = 0; c < p->nusable; c++)
		n += trial_at(p, c, peer)->to && trial_at(p, c, peer)->state == state;
	return n;
}

static void fix_unreached(const struct proof *p, size_t peer, struct finding *f)
{
	if (count_state(p, peer, TCP_FILTERED))
		finding_fix(f, "# open all TCP ports between the nodes: security group, firewall");
	if (count_state(p, peer, TCP_UNREACHABLE))
		finding_fix(
			f,
			"nft list ruleset   # here and on %s: where ping gets an answer and this "
			"does not, a firewall rejects it",
			p->peers[peer].given);
	finding_fix(f, "ping -c 3 %s   # is it up, is the address right?", p->peers[peer].host);
}

static void say_unreached(struct proof *p, struct report *r, size_t peer)
{
	struct finding *f = report_find(r, "peer.reach", p->peers[peer].given);
	struct text t;

	if (count_state(p, peer, TCP_PENDING)) {
		finding_set(f, ST_SKIP, "was not tried to its end");
		report_add(r, f);
		return;
	}
	text_init(&t, p->a);
	for (size_t c = 0; c < p->nusable; c++)
		text_addf(&t, "%s %s: %s", c ? ";" : "", p->cands->v[c].iface->name,
			  how_it_failed(p->a, trial_at(p, c, peer)));
	finding_set(f, ST_FAIL, "%s%s",
		    p->nusable ? "answers through no interface:" : "no interface here can even try",
		    t.s);
	finding_expect(f, "an answer, or a refusal");
	fix_unreached(p, peer, f);
	report_add(r, f);
}

/* NCCL binds only its listening side: what it sends follows the routing table. */
static void say_route(struct proof *p, struct report *r, const struct iface *chosen, size_t cand,
		      size_t peer)
{
	const struct trial *t = trial_at(p, cand, peer);
	const struct iface *out;
	struct route route;
	struct err ignored = {0};
	struct finding *f;

	if (netlink_route(p->nl, t->to, 0, NULL, &route, &ignored) || !route.reachable)
		return;
	out = inventory_by_index(p->in->inv, route.oif);
	if (!out || out == chosen)
		return;
	f = report_find(r, "route.peer", p->peers[peer].given);
	finding_set(
		f, ST_WARN,
		"the routing table sends to it through %s, not %s: NCCL listens on the interface "
		"you name, but connects by route",
		out->name, chosen->name);
	finding_fix(f, "ip route replace %s dev %s", addr_print(t->to, &(struct addr_text){0}),
		    shell_quote(p->a, chosen->name));
	report_add(r, f);
}

static void report_proof(struct proof *p, struct report *r, const struct candidate *win,
			 size_t winner)
{
	for (size_t k = 0; k < p->npeers; k++) {
		size_t via = winner;

		for (size_t c = 0; !win && c < p->nusable; c++)
			if (answered(trial_at(p, c, k))) {
				via = c;
				break;
			}
		if (via < p->nusable && answered(trial_at(p, via, k))) {
			say_reached(p, r, via, k);
			if (win)
				say_route(p, r, win->iface, via, k);
		} else {
			say_unreached(p, r, k);
		}
	}
}

static void say_nothing_fits(struct proof *p, struct report *r)
{
	struct finding *f;

	for (size_t k = 0; k < p->npeers; k++) {
		bool any = false;

		for (size_t c = 0; c < p->nusable; c++)
			any = any || answered(trial_at(p, c, k));
		if (!any)
			return; /* that peer's own finding says it */
	}
	f = report_find(r, "suggest.interface", "all peers");
	finding_set(f, ST_FAIL, "every peer answers, but no single interface reaches all of them");
	finding_expect(f, "one interface that reaches every peer");
	finding_fix(f, "give the peers' addresses in one network: --peer ADDR");
	report_add(r, f);
}

int suggest_by_peers(const struct rules_input *in, struct netlink *nl, struct peer *peers,
		     size_t npeers, uint64_t deadline_ns, struct report *r, struct suggestion *ret,
		     struct err *e)
{
	struct proof p = {.a = in->inv->a, .in = in, .nl = nl, .peers = peers, .npeers = npeers};
	const struct candidate *win;
	size_t winner = SIZE_MAX;

	*ret = (struct suggestion){.a = in->inv->a};
	suggest_rank(in, ret);
	p.cands = &ret->candidates;
	while (p.nusable < p.cands->n && p.cands->v[p.nusable].usable)
		p.nusable++;
	p.trials = arena_alloc(p.a, (p.nusable * npeers + 1) * sizeof(*p.trials));
	for (size_t c = 0; c < p.nusable; c++)
		for (size_t k = 0; k < npeers; k++)
			for (size_t x = 0; x < peers[k].addrs.n; x++)
				plan_one(&p, c, k, &peers[k].addrs.v[x], deadline_ns);
	if (p.probes.n && tcp_probe_all(p.probes.v, p.probes.n, 0, e))
		return -1;
	collect(&p);
	keep_rows(&p, ret);
	for (size_t k = 0; k < npeers; k++)
		ret->cut_short = ret->cut_short || count_state(&p, k, TCP_PENDING);
	ret->tried = p.nusable;
	settle_families(&p);
	win = best(&p, &winner);
	explain_candidates(&p, winner, win != NULL);
	report_proof(&p, r, win, winner);
	if (!win) {
		if (p.nusable && !ret->cut_short)
			say_nothing_fits(&p, r);
		return 0;
	}
	ret->proven = true;
	ret->why = win->why;
	suggest_choose(in, win, ret);
	return 0;
}
