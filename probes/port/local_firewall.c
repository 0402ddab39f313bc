/* What this host's own firewall says to one packet, and to what training sends. */
#include "lib/core/self.h"
#include "lib/core/units.h"
#include "probes/iface/facts.h"
#include "probes/port/fix.h"
#include "probes/port/local.h"

#include <arpa/inet.h>
#include <netinet/icmp6.h>

/* The card that leads to @peer; NULL: none does, or it is not known. */
static const struct iface *way_to(const struct local *l, const union addr *peer)
{
	struct facts *f = l->f;
	struct err ignored = {0};
	struct route x = {0};

	if ((!f->nl.sock && !f->nl.recorded) ||
	    netlink_route(&f->nl, peer, 0, NULL, &x, &ignored) || !x.reachable ||
	    x.type != RTN_UNICAST)
		return NULL;
	return inventory_by_index(&f->inv, x.oif);
}

/* Rules may ask by which interface it comes or goes: who is in the network of our address comes in
 * where that is; all else goes, and mostly comes, by the card that the route takes. Hosts that
 * speak BGP have their address on lo, or on a card that is none. */
static struct nft_packet here(const struct local *l, const struct nft_packet *asked)
{
	const union addr *own = asked->input ? &asked->to : &asked->from;
	const union addr *peer = asked->input ? &asked->from : &asked->to;
	const struct iface_addr *mine = inventory_by_addr(&l->f->inv, own);
	const struct iface *card = mine ? mine->iface : NULL, *way;
	struct nft_packet p = *asked;

	if (mine && (!asked->input || !addr_in_subnet(peer, own, mine->prefix))) {
		way = way_to(l, peer);
		card = way ? way : card;
	}
	p.iface = card ? card->name : NULL;
	return p;
}

struct nft_answer local_rule(const struct local *l, bool input, bool udp, const union addr *from,
			     const union addr *to)
{
	const struct nft_packet p =
		here(l, &(struct nft_packet){.input = input, .udp = udp, .from = *from, .to = *to});

	return nft_judge(&l->fw.nft, &p);
}

size_t local_rules(const struct local *l, bool input, bool answer, const union addr *from,
		   const union addr *to, struct nft_answer *ret, size_t max)
{
	const struct nft_packet p = here(
		l,
		&(struct nft_packet){.input = input, .answer = answer, .from = *from, .to = *to});

	return nft_judge_all(&l->fw.nft, &p, ret, max);
}

/* Who asks us, and whom we ask: the peer, or where it is behind one, a router, by the only kind of
 * address that it is known to have. */
static union addr asker(const struct local *l, const union addr *mine, const union addr *peer)
{
	const struct iface_addr *own = inventory_by_addr(&l->f->inv, mine);
	union addr router = {.v6 = {.sin6_family = AF_INET6}};

	if (!own || addr_in_subnet(peer, mine, own->prefix))
		return *peer;
	(void)inet_pton(AF_INET6, "fe80::1", &router.v6.sin6_addr);
	return router;
}

bool local_stops_neighbours(const struct local *l, const union addr *mine, const union addr *peer,
			    struct nft_answer *ret)
{
	static const uint8_t types[] = {ND_NEIGHBOR_SOLICIT, ND_NEIGHBOR_ADVERT};
	union addr other;

	if (mine->sa.sa_family != AF_INET6)
		return false;
	other = asker(l, mine, peer);
	for (size_t i = 0; i < 2 * ARRAY_LEN(types); i++) {
		bool input = i < ARRAY_LEN(types);
		const struct nft_packet p =
			here(l, &(struct nft_packet){.input = input,
						     .icmp6 = types[i % ARRAY_LEN(types)],
						     .from = input ? other : *mine,
						     .to = input ? *mine : other});

		*ret = nft_judge(&l->fw.nft, &p);
		if (ret->verdict != NFT_ACCEPT && !ret->perhaps)
			return true;
	}
	return false;
}

/* --- to those of training ------------------------------------------------------ */
/* What some port's questions meet, whoever of our subnet asks. */
struct met {
	struct nft_answer by;	 /* what stops @stopped, or accepts all */
	union addr stopped, let; /* family 0: nobody is */
};

static struct met ask(const struct local *l, const peer_sample *peers, uint16_t port)
{
	union addr mine = l->s.addr->addr;
	struct met all = {0};

	addr_set_port(&mine, port);
	for (size_t i = 0; i < peers->n; i++) {
		struct nft_answer x = local_rule(l, true, false, &peers->v[i], &mine);

		if (x.verdict == NFT_ACCEPT) {
			all.let = all.let.sa.sa_family ? all.let : peers->v[i];
		} else if (!all.stopped.sa.sa_family) {
			all.by = x;
			all.stopped = peers->v[i];
		}
	}
	return all;
}

static bool is_alike(const struct met *x, const struct met *y)
{
	return x->by.rule == y->by.rule && x->by.chain == y->by.chain &&
	       x->let.sa.sa_family == y->let.sa.sa_family;
}

static const char *verb(enum nft_verdict v) { return v == NFT_REJECT ? "reject" : "drop"; }

/* Of some it is on purpose, for all that is known here: peers may be just those. */
static void say_some(const struct local *l, const struct met *x, struct finding *f)
{
	struct addr_text let, stopped;

	finding_set(f, ST_INFO,
		    "this host's firewall lets some of this subnet in, such as %s, and %s%ss what "
		    "comes from others, such as %s: %s",
		    addr_print(&x->let, &let), x->by.perhaps ? "perhaps " : "", verb(x->by.verdict),
		    addr_print(&x->stopped, &stopped), nft_describe(&x->by, l->f->a));
}

static void blocked(const struct local *l, const char *ports, const struct met *x, struct report *r)
{
	struct finding *f = report_find(r, "local.firewall", ports);
	const char *others = others_subnet(l->s.addr, f->a);

	if (x->let.sa.sa_family)
		say_some(l, x, f);
	else
		finding_set(f, x->by.seldom ? ST_INFO : ST_WARN,
			    "this host's firewall %s%ss what comes from %s: %s",
			    x->by.perhaps ? "perhaps " : "", verb(x->by.verdict),
			    has_others_subnet(l->s.addr) ? others : "other hosts",
			    nft_describe(&x->by, f->a));
	finding_expect(f, "all TCP from the other nodes let in");
	finding_fix(f, "%s", firewall_fix(&l->fw, &x->by, others, f->a));
	report_add(r, f);
}

/* The whole range where all that was drawn of it is among them: other hosts draw others, and say
 * the same of it. */
static const char *ports_of(const struct local *l, const port_list *same, struct arena *a)
{
	const struct port_env *env = &l->env;
	port_list others = {0};
	size_t drawn = 0;

	for (size_t i = 0; i < same->n; i++) {
		bool is_drawn = false;

		for (size_t k = 0; k < env->sample.n; k++)
			is_drawn |= same->v[i] == env->sample.v[k];
		drawn += is_drawn;
		if (!is_drawn)
			*LIST_ADD(a, &others) = same->v[i];
	}
	if (!drawn || drawn < env->sample.n)
		return ports_fold(same->v, same->n, 0, a);
	return arena_printf(a, "%s%s%u-%u", ports_fold(others.v, others.n, 0, a),
			    others.n ? "," : "", env->range.first, env->range.last);
}

/* MASTER_PORT and the sample, ports with one fate together. */
static size_t judge_rules(const struct local *l, struct report *r)
{
	struct arena *a = report_arena(r);
	port_list ports = {0}, same = {0};
	struct met last = {0};
	peer_sample peers;
	size_t bad = 0;

	local_sample_peers(l, &peers);
	ports_default(&l->env, a, &ports);
	for (size_t i = 0; i <= ports.n; i++) {
		struct met x = {0};

		if (i < ports.n)
			x = ask(l, &peers, ports.v[i]);
		if (same.n && (i == ports.n || !is_alike(&x, &last))) {
			blocked(l, ports_of(l, &same, a), &last, r);
			same.n = 0;
		}
		last = x;
		if (!x.stopped.sa.sa_family)
			continue;
		*LIST_ADD(a, &same) = ports.v[i];
		bad++;
	}
	return bad;
}

/* Ranks of one machine meet over lo, and so do we. */
static void judge_loopback(const struct local *l, struct report *r)
{
	struct nft_answer x;
	struct finding *f;

	if (!firewall_stops_loopback(&l->fw, &x))
		return;
	f = report_find(r, "local.firewall", "lo");
	finding_set(f, ST_WARN, "this host's firewall %ss what it sends to itself over lo: %s",
		    verb(x.verdict), nft_describe(&x, f->a));
	finding_expect(f, "lo let through: ranks of one machine meet there");
	finding_fix(f, "%s", firewall_fix_loopback(&l->fw, &x, f->a));
	report_add(r, f);
}

/* Where all ports are open, and nobody finds the way to them. */
static bool judge_neighbours(const struct local *l, struct report *r)
{
	peer_sample peers;
	struct nft_answer x;
	struct finding *f;

	local_sample_peers(l, &peers);
	if (!local_stops_neighbours(l, &l->s.addr->addr, &peers.v[0], &x))
		return false;
	f = report_find(r, "local.firewall", "ICMPv6");
	finding_set(f, ST_WARN,
		    "this host's firewall %ss ICMPv6, by which IPv6 finds its neighbours: %s",
		    verb(x.verdict), nft_describe(&x, f->a));
	finding_expect(f, "neighbour solicitations and advertisements let through");
	finding_fix(f, "%s", firewall_fix_neighbours(&l->fw, &x, f->a));
	report_add(r, f);
	return true;
}

static void fix_unread(struct finding *f)
{
	const char *typed = self_as_root(f->a, "portcheck");

	if (typed)
		finding_fix(f, "%s   # shows its rules", typed);
	else
		finding_fix(f, FIREWALL_LIST);
}

void local_judge_firewall(const struct local *l, struct report *r)
{
	struct finding *f;

	judge_loopback(l, r);
	if (l->fw.known && l->s.addr && (judge_rules(l, r) || judge_neighbours(l, r)))
		return;
	f = report_find(r, "local.firewall", l->fw.manager ?: "nftables");
	if (!l->fw.known) {
		finding_set(f, l->fw.manager ? ST_WARN : ST_INFO,
			    "this host's firewall was not looked at: %s%s%s", l->fw.trouble,
			    l->fw.manager ? "; running: " : "", l->fw.manager ?: "");
		if (l->fw.manager)
			fix_unread(f);
	} else if (!l->s.addr) {
		finding_set(f, ST_INFO,
			    "was not judged: this host has no address that peers could use");
	} else if (l->fw.unread) {
		finding_set(f, ST_INFO, "lets peers in as far as it was read: %s", l->fw.unread);
	} else if (!l->fw.nft.rules.n) {
		finding_set(f, ST_PASS, "no rules: this host itself keeps nothing out");
	} else {
		finding_set(f, ST_PASS, "its rules let peers of this subnet in");
	}
	report_add(r, f);
}

/* --- to ourselves, before anything is known --------------------------------------- */
/* The rule that keeps us out may keep all others out, too. NULL: none does. */
static const char *let_others_in(const struct local *l, struct arena *a)
{
	port_list ports = {0};
	peer_sample peers;

	if (!l->s.addr)
		return NULL;
	local_sample_peers(l, &peers);
	ports_default(&l->env, a, &ports);
	for (size_t i = 0; i < ports.n; i++) {
		const struct met x = ask(l, &peers, ports.v[i]);

		if (x.stopped.sa.sa_family && !x.let.sa.sa_family && !x.by.perhaps)
			return firewall_fix(&l->fw, &x.by, others_subnet(l->s.addr, a), a);
	}
	return NULL;
}

void local_explain_loopback(struct err *e)
{
	enum { SAMPLE = 4 };
	const uint64_t patience_ns = 5 * NS_PER_S;
	AUTO(arena_done) struct arena a = {0};
	AUTO(facts_done) struct facts f = {0};
	AUTO(local_done) struct local l = {0};
	struct port_env env;
	struct err ignored = {0};
	const char *own, *others;
	struct nft_answer x;

	if (facts_read(&f, FACTS_NET, &a, &ignored) ||
	    port_env_read(&env, SAMPLE, now_ns(), &a, &ignored))
		return;
	local_read(&l, &f, &env, patience_ns);
	if (!firewall_stops_loopback(&l.fw, &x))
		return;
	err_set(e, ERR_SYS,
		"its own firewall %ss what it sends to itself over lo, where ranks of one machine "
		"meet: %s",
		verb(x.verdict), nft_describe(&x, &a));
	own = firewall_fix_loopback(&l.fw, &x, &a);
	others = let_others_in(&l, &a);
	if (others && !streq(own, others))
		(void)err_command(e, "%s && %s", own, others);
	else
		(void)err_command(e, "%s", own);
}
