/* What a proof found, in words. */
#include "probes/iface/prove.h"

#include "lib/core/quote.h"
#include "lib/core/units.h"
#include "lib/host/nat.h"
#include "lib/host/straight.h"
#include "probes/rules/names.h"

#include <string.h>

enum { MOST_TOLD = 4 };

static size_t count_reached(const struct proof *p, size_t cand)
{
	size_t n = 0;

	for (size_t k = 0; k < p->npeers; k++)
		n += answered(trial_at(p, cand, k));
	return n;
}

static const char *how_it_failed(struct arena *a, const struct trial *t)
{
	struct unit_buf b;

	if (t->to && t->state == TCP_PENDING)
		return "not tried to its end";
	if (!t->has_route)
		return "no route, or no address of that family";
	if (t->state == TCP_FILTERED)
		return arena_printf(a, "no answer in %s",
				    format_duration(&b, t->took_us * 1000ull));
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
				  !p->peers[k].addrs.n ? "not tried to its end"
						       : how_it_failed(p->a, trial_at(p, cand, k)));
	text_more(&t, ";", missing, MOST_TOLD);
	return t.s;
}

void proof_explain(struct proof *p, size_t winner, bool won)
{
	size_t n = 0;

	for (size_t c = 0; c < p->nusable; c++)
		n += proof_reaches_all(p, c);
	for (size_t c = 0; c < p->nusable; c++) {
		struct candidate *x = &p->cands->v[c];

		x->usable = proof_reaches_all(p, c);
		x->why = !x->usable ? why_not(p, c)
			 : nat_is_own(p->in->inv, x->iface)
				 ? arena_printf(p->a, "reaches every peer, but is in %s", NAT_WORDS)
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
		    format_duration(&b, t->took_us * 1000ull),
		    t->state == TCP_OPEN ? ""
					 : arena_printf(p->a,
							" (%s refused it: the path works, "
							"nothing listens there)",
							addr_print_port(t->to, &at)));
	finding_value(f, (double)t->took_us / 1e3, "ms");
	report_add(r, f);
}

static void fix_unreached(const struct proof *p, size_t peer, struct finding *f)
{
	if (proof_count(p, peer, TCP_FILTERED))
		finding_fix(f, "- open all TCP ports between the nodes: security group, firewall");
	finding_fix(f, "ping -c 3 %s   # is it up, is the address right?", p->peers[peer].host);
	if (proof_count(p, peer, TCP_UNREACHABLE)) /* tells a firewall only where ping passes */
		finding_fix(f,
			    "sudo nft list ruleset   # here and on %s: where ping gets an answer "
			    "and this "
			    "does not, a firewall rejects it",
			    p->peers[peer].given);
}

/* From which address of @x what is sent to @to goes to a router, though the two are in one network;
 * NULL: from none. */
static const struct iface_addr *routed_from(const struct proof *p, const struct iface *x,
					    const union addr *to, const char **ret_router)
{
	for (const struct iface_addr *mine = x->addrs; mine; mine = mine->next) {
		struct err ignored = {0};
		struct route route;

		if (mine->addr.sa.sa_family != to->sa.sa_family ||
		    netlink_route(p->nl, to, 0, &mine->addr, &route, &ignored))
			continue;
		*ret_router = straight_router(&route, mine, to, p->a);
		if (*ret_router)
			return mine;
	}
	return NULL;
}

/* Silence of a peer in our own network to which a router of it is asked the way; the first such. */
static void say_routed(const struct proof *p, size_t peer, struct text *said, struct finding *f)
{
	for (size_t c = 0; c < p->nusable; c++) {
		const union addr *to = trial_at(p, c, peer)->to;
		const char *router;
		const struct iface_addr *mine =
			to ? routed_from(p, p->cands->v[c].iface, to, &router) : NULL;

		if (!mine)
			continue;
		text_addf(said,
			  "; this host's route to it leads to a router, though the two are in "
			  "one network: %s",
			  router);
		finding_fix(f, "sudo %s", straight_command(p->nl, mine, to, p->a));
		return;
	}
}

/* "fe80::7%eth0" may answer, and portcheck says so; but what it is called here, NCCL and Gloo tell
 * other hosts, where that interface has another number. NULL: there is no such address. */
static const struct iface_addr *linklocal6_for(const struct proof *p, size_t peer)
{
	const addr_list *to = &p->peers[peer].addrs;
	const struct iface *i;

	if (p->nusable || !to->n || to->v[0].sa.sa_family != AF_INET6 ||
	    addr_class(&to->v[0]) != ADDR_LINKLOCAL)
		return NULL;
	i = inventory_by_index(p->in->inv, (int)to->v[0].v6.sin6_scope_id);
	for (const struct iface_addr *x = i ? i->addrs : NULL; x; x = x->next)
		if (x->addr.sa.sa_family == AF_INET6 && addr_class(&x->addr) == ADDR_LINKLOCAL)
			return x;
	return NULL;
}

static void say_linklocal(const struct proof *p, const struct iface_addr *x, struct finding *f)
{
	finding_set(
		f, ST_FAIL,
		"is link-local, as is all that %s has: NCCL and Gloo cannot tell others such an "
		"address",
		x->iface->name);
	finding_expect(f, "addresses of one network at both ends");
	names_advise_linklocal(p->in->inv, x, f);
}

static void say_unreached(struct proof *p, struct report *r, size_t peer)
{
	const struct iface_addr *linklocal = linklocal6_for(p, peer);
	struct finding *f = report_find(r, "peer.reach", p->peers[peer].given);
	struct text t;

	if (linklocal) {
		say_linklocal(p, linklocal, f);
		report_add(r, f);
		return;
	}

	if (proof_cut_short(p, peer)) {
		finding_set(f, ST_SKIP, "was not tried to its end");
		report_add(r, f);
		return;
	}
	text_init(&t, p->a);
	for (size_t c = 0; c < p->nusable; c++)
		text_addf(&t, "%s %s: %s", c ? ";" : "", p->cands->v[c].iface->name,
			  how_it_failed(p->a, trial_at(p, c, peer)));
	say_routed(p, peer, &t, f);
	finding_set(f, ST_FAIL, "%s%s",
		    p->nusable ? "answers through no interface:" : "no interface here can even try",
		    t.s);
	finding_expect(f, "an answer, or a refusal");
	fix_unreached(p, peer, f);
	report_add(r, f);
}

/* "via 10.0.0.254 ", where the way through this interface has a router; "": there is none. */
static const char *router_of(struct proof *p, const union addr *to, const struct iface *through)
{
	struct err ignored = {0};
	struct route route;
	const char *router;

	if (netlink_route(p->nl, to, through->index, NULL, &route, &ignored))
		return "";
	router = netlink_router(&route, to->sa.sa_family, p->a);
	return router ? arena_printf(p->a, "via %s ", router) : "";
}

/* Asked through an interface it answers whatever the routes say, and nobody else asks so. */
static void say_forbidden(struct proof *p, struct report *r, const struct iface *chosen,
			  const struct trial *t, size_t peer, const char *why)
{
	struct finding *f = report_find(r, "route.peer", p->peers[peer].given);

	finding_set(f, ST_FAIL,
		    "a route of this host forbids it (%s), though it answers what is sent through "
		    "%s: NCCL, torch and MPI connect by route, and would fail",
		    why, chosen->name);
	finding_expect(f, "a route to it through %s", chosen->name);
	finding_fix(f, "sudo %s",
		    netlink_undo_rule(p->nl, NULL, t->to, true, p->a)
			    ?: netlink_pass_forbidden(p->nl, t->to, p->a));
	report_add(r, f);
}

/* Sent through an interface it needs no route: the kernel takes the peer for a neighbour. */
static void say_no_route(struct proof *p, struct report *r, const struct iface *chosen,
			 const struct trial *t, size_t peer)
{
	struct finding *f = report_find(r, "route.peer", p->peers[peer].given);
	struct addr_text at;

	finding_set(
		f, ST_FAIL,
		"this host has no route to it, though it answers what is sent through %s: NCCL, "
		"torch and MPI connect by route, and would fail",
		chosen->name);
	finding_expect(f, "a route to it through %s: is the netmask of its address right?",
		       chosen->name);
	finding_fix(f, "sudo ip route add %s %sdev %s", addr_print(t->to, &at),
		    router_of(p, t->to, chosen), shell_quote(p->a, chosen->name));
	report_add(r, f);
}

/* NCCL binds only its listening side: what it sends follows the routing table. */
static void say_route(struct proof *p, struct report *r, const struct iface *chosen, size_t cand,
		      size_t peer)
{
	const struct trial *t = trial_at(p, cand, peer);
	const struct iface *out;
	const char *first;
	struct route route;
	struct err ignored = {0};
	struct finding *f;

	if (netlink_route(p->nl, t->to, 0, NULL, &route, &ignored))
		return;
	if (netlink_forbids(&route)) {
		say_forbidden(p, r, chosen, t, peer, route.why);
		return;
	}
	if (!route.reachable) {
		if (addr_class(t->to) != ADDR_LINKLOCAL)
			say_no_route(p, r, chosen, t, peer);
		return;
	}
	out = inventory_by_index(p->in->inv, route.oif);
	if (!out || out == chosen)
		return;
	f = report_find(r, "route.peer", p->peers[peer].given);
	finding_set(
		f, ST_WARN,
		"the routing table sends to it through %s, not %s: NCCL listens on the interface "
		"you name, but connects by route",
		out->name, chosen->name);
	first = netlink_prefer_main(p->nl, chosen->index, NULL, t->to, p->a);
	if (first) { /* nobody looks at the main table before */
		finding_fix(f, "sudo %s", first);
		report_add(r, f);
		return;
	}
	finding_fix(f, "sudo ip route replace %s %sdev %s",
		    addr_print(t->to, &(struct addr_text){0}), router_of(p, t->to, chosen),
		    shell_quote(p->a, chosen->name));
	report_add(r, f);
}

void proof_report(struct proof *p, struct report *r, const struct candidate *win, size_t winner)
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

void proof_report_none(struct proof *p, struct report *r)
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
	finding_fix(f, "- give the peers' addresses in one network: --peer ADDR");
	report_add(r, f);
}
