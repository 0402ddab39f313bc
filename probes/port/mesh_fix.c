/* What closes a gap between hosts: the command, and the hosts that it is to be typed on. */
#include "lib/net/netlink.h"
#include "probes/port/fix.h"
#include "probes/port/mesh_judge.h"

enum { MOST_ADDRESSES = 4, LINE = 200 };

index_list mesh_unread(const struct mesh *m, const index_list *l)
{
	index_list ret = {0};

	for (size_t i = 0; i < l->n; i++)
		if (!m->nodes[l->v[i]].rules_known)
			*LIST_ADD(m->a, &ret) = l->v[i];
	return ret;
}

void mesh_peers(const struct mesh *m, const struct mesh_gap *x, str_list *ret)
{
	struct addr_text at;

	for (size_t i = 0; i < x->others.n; i++) {
		const struct mesh_node *n = &m->nodes[x->others.v[i]];
		const char *text = (x->all || x->others.n > MOST_ADDRESSES) && n->subnet
					   ? n->subnet
					   : arena_strdup(m->a, addr_print(&n->addr, &at));
		bool had = false;

		for (size_t k = 0; k < ret->n; k++)
			had |= streq(ret->v[k], text);
		if (!had)
			*LIST_ADD(m->a, ret) = text;
	}
}

/* No more than fits a line, for people; or all of them. */
static const char *joined(const struct mesh *m, const str_list *l, size_t most)
{
	struct text t;

	text_init(&t, m->a);
	for (size_t i = 0; i < l->n && t.n < most; i++)
		text_addf(&t, "%s%s", i ? ", " : "", l->v[i]);
	return t.s;
}

/* @text with the first @old in it made @new. */
static const char *replaced(const struct mesh *m, const char *text, const char *old,
			    const char *new)
{
	const char *at = *old ? strstr(text, old) : NULL;

	return at ? arena_printf(m->a, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old))
		  : text;
}

/* nft takes a set of addresses, other tools one at a time. */
static void let_through(const struct mesh *m, const struct mesh_rule *rule, const str_list *peers,
			str_list *ret)
{
	if (!*rule->fix)
		return;
	if (!*rule->peer) {
		*LIST_ADD(m->a, ret) = rule->fix;
	} else if (strstr(rule->fix, "nft ") && peers->n > 1) {
		const char *set = arena_printf(m->a, "{ %s }", joined(m, peers, SIZE_MAX));

		*LIST_ADD(m->a, ret) = replaced(m, rule->fix, rule->peer, set);
	} else {
		for (size_t i = 0; i < peers->n; i++)
			*LIST_ADD(m->a, ret) = replaced(m, rule->fix, rule->peer, peers->v[i]);
	}
}

static const char *ip_for(const struct mesh_node *peer)
{
	return addr_ip_command(peer->addr.sa.sa_family);
}

/* A route that forbids goes, the one to the host's own network comes back. NULL: neither. */
static const char *route_command(const struct mesh *m, enum port_cause cause,
				 const struct mesh_node *here, const struct mesh_node *there)
{
	if (cause == CAUSE_OWN_ROUTE)
		return arena_printf(m->a, "sudo %s",
				    netlink_undo_forbidding(&there->addr, RT_TABLE_MAIN, m->a));
	if (cause == CAUSE_NO_ROUTE && here->iface && here->subnet && there->subnet &&
	    streq(here->subnet, there->subnet))
		return arena_printf(m->a, "sudo %s route replace %s dev %s", ip_for(there),
				    here->subnet, here->iface);
	return NULL;
}

const char *mesh_undo(const struct mesh *m, size_t here, size_t there)
{
	for (size_t i = m->nodes[here].undone; i < m->undone.n && m->undone.v[i].from == here; i++)
		if (m->undone.v[i].to == there)
			return arena_printf(m->a, "sudo %s", m->undone.v[i].command);
	return NULL;
}

/* Of a way out, or a way back, of @here's. */
static const char *way_command(const struct mesh *m, enum port_cause cause, size_t here,
			       size_t there)
{
	const struct mesh_cell *out = mesh_at(m, here, there);

	if (cause == CAUSE_NO_WAY_BACK && out->row && out->bad && out->cause != CAUSE_NO_WAY_BACK)
		return way_command(m, (enum port_cause)out->cause, here, there);
	if (cause != CAUSE_OWN_ROUTE && cause != CAUSE_OTHER_WAY && cause != CAUSE_WAY_BACK &&
	    cause != CAUSE_NO_ROUTE && cause != CAUSE_PATHS && cause != CAUSE_ROUTER &&
	    cause != CAUSE_ROUTER_BACK)
		return NULL;
	return mesh_undo(m, here, there)
		       ?: route_command(m, cause, &m->nodes[here], &m->nodes[there]);
}

/* The way back that a filter minds is lost, too: it is the route, and not the filter. */
static bool leads_away(const struct mesh *m, const struct mesh_gap *x)
{
	size_t here = x->hosts.v[0], there = x->others.v[0];
	const struct mesh_cell *out = mesh_at(m, here, there);

	return x->in && out->bad && out->cause == CAUSE_OTHER_WAY && mesh_undo(m, here, there);
}

static const char *command(const struct mesh *m, const struct mesh_gap *x, enum port_cause cause)
{
	const struct mesh_node *here = &m->nodes[x->hosts.v[0]];

	if (cause == CAUSE_NEIGHBOURS)
		return FIX_NEIGHBOURS;
	if (cause == CAUSE_RP_FILTER && leads_away(m, x))
		return mesh_undo(m, x->hosts.v[0], x->others.v[0]);
	if ((cause == CAUSE_RP_FILTER || cause == CAUSE_OWN_RP_FILTER) && here->twin)
		return "sudo sysctl -w net.ipv4.conf.all.rp_filter=2 "
		       "net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2";
	if (cause == CAUSE_RP_FILTER || cause == CAUSE_OWN_RP_FILTER)
		return "sudo sysctl -w net.ipv4.conf.all.rp_filter=2";
	if (port_cause_option(cause))
		return port_cause_option(cause);
	if (cause == CAUSE_BULK)
		return arena_printf(m->a, "sudo ip link set dev %s mtu %u", here->iface ?: "IFACE",
				    x->fits);
	return way_command(m, cause, x->hosts.v[0], x->others.v[0]);
}

/* Past a VPN's kill switch a way may have to be made for each of them. */
static void undo_others(const struct mesh *m, const struct mesh_gap *x, str_list *ret)
{
	enum { MOST = 8 };

	for (size_t i = 1; i < x->others.n && ret->n && ret->n < MOST; i++) {
		const char *one = mesh_undo(m, x->hosts.v[0], x->others.v[i]);
		bool had = !one || !strstr(one, " rule add to "); /* of other kinds one does */

		for (size_t k = 0; k < ret->n && !had; k++)
			had = streq(ret->v[k], one);
		if (!had)
			*LIST_ADD(m->a, ret) = one;
	}
}

void mesh_commands(const struct mesh *m, const struct mesh_gap *x, enum port_cause cause,
		   str_list *ret)
{
	const char *one;

	*ret = (str_list){0};
	if (x->stops && *x->example->rule->fix) {
		str_list peers = {0};

		mesh_peers(m, x, &peers);
		let_through(m, x->example->rule, &peers, ret);
		for (const struct mesh_more *i = x->example->more; i; i = i->next)
			let_through(m, i->rule, &peers, ret); /* each of its chains */
		return;
	}
	one = command(m, x, cause);
	if (one)
		*LIST_ADD(m->a, ret) = one;
	if (cause == CAUSE_OWN_ROUTE)
		undo_others(m, x, ret);
}

void mesh_type(const struct mesh *m, const index_list *hosts, const str_list *commands,
	       const char *provided, struct finding *f)
{
	const char *all = NULL, *line = NULL;
	host_list names = {0};

	for (size_t i = 0; i < commands->n; i++)
		all = all ? arena_printf(m->a, "%s && %s", all, commands->v[i]) : commands->v[i];
	for (size_t i = 0; i < hosts->n; i++)
		LIST_ADD(m->a, &names)->name = m->nodes[hosts->v[i]].name;
	if (all && hosts->n > 1)
		line = on_each(m->a, &m->way, &names, all);
	if (line)
		finding_fix(f, "%s%s%s", line, provided ? "   # if " : "", provided ?: "");
	for (size_t i = 0; i < commands->n && !line; i++)
		finding_fix(f, "%s   # on %s%s%s", commands->v[i], mesh_names_of(m, hosts),
			    provided ? ", if " : "", provided ?: "");
}

/* ---- what is left to a person ---- */
/* Two cards in one network, which may be rails: neither is to go. */
static void advise_twin(const struct mesh_node *at, const char *peer, struct finding *f)
{
	finding_fix(f, "ping -c 1 -I %s %s   # on %s: no answer: that card's cable, port or VLAN",
		    at->twin, peer, at->name);
	finding_fix(
		f,
		"export NCCL_SOCKET_IFNAME='=%s'   # on all hosts: its cards %s and %s are in one "
		"network, %s; a network for each is better",
		at->iface ?: "IFACE", at->iface ?: "IFACE", at->twin, at->subnet ?: "the same");
}

/* Whom the others reach by the family of who has no way to them, has that, too. */
static void fix_family(const struct mesh *m, const struct mesh_gap *x, struct finding *f)
{
	size_t asker = x->in ? x->of_first.v[0] : x->hosts.v[0],
	       asked = x->in ? x->hosts.v[0] : x->of_first.v[0];
	const struct mesh_cell *back = mesh_at(m, asked, asker);

	if (back->row && back->cause != CAUSE_NO_ROUTE)
		finding_fix(f,
			    "export NCCL_SOCKET_FAMILY=AF_INET%s   # on all hosts: %s has no other "
			    "family, and all have this one",
			    m->nodes[asker].addr.sa.sa_family == AF_INET6 ? "6" : "",
			    m->nodes[asker].name);
	else
		finding_fix(f, "- give %s and %s addresses of one family", m->nodes[asker].name,
			    m->nodes[asked].name);
}

/* What no rule lets in or out: where to look. */
static bool advise_way(const struct mesh *m, const struct mesh_gap *x, enum port_cause cause,
		       const char *peers, struct finding *f)
{
	const struct mesh_node *at = &m->nodes[x->hosts.v[0]];
	const char *host = mesh_names_of(m, &x->hosts);
	struct addr_text text, one; /* what is looked up is a single address */

	addr_print(&m->nodes[x->of_first.v[0]].addr, &one);

	if (at->twin && (cause == CAUSE_OTHER_WAY || cause == CAUSE_WAY_BACK))
		advise_twin(at, one.s, f);
	else if (cause == CAUSE_RP_FILTER || cause == CAUSE_OWN_RP_FILTER ||
		 cause == CAUSE_OTHER_WAY) {
		finding_fix(f, "ip route get %s   # on %s: should leave through %s", one.s,
			    at->name, at->iface ?: "the same interface");
	} else if (cause == CAUSE_ROUTER || cause == CAUSE_ROUTER_BACK) {
		finding_fix(f, "%s route get %s from %s   # on %s: should name no router (via)",
			    ip_for(&m->nodes[x->of_first.v[0]]), one.s,
			    addr_print(&at->addr, &text), at->name);
	} else if (cause == CAUSE_WAY_BACK) {
		finding_fix(f, "ip route get %s from %s   # on %s: should leave through %s", one.s,
			    addr_print(&at->addr, &text), at->name,
			    at->iface ?: "the same interface");
	} else if (cause == CAUSE_LOST_ANSWER) {
		finding_fix(f,
			    "- allow TCP from the ports of %s to ports 1024-65535 of %s   # in "
			    "network ACLs, which are stateless",
			    x->in ? host : peers, x->in ? peers : host);
		finding_fix(f, "traceroute -n %s   # on %s: the way of the answer, if not that",
			    x->in ? one.s : addr_print(&at->addr, &text),
			    x->in ? at->name : m->nodes[x->of_first.v[0]].name);
	} else if (cause == CAUSE_NO_ROUTE && mesh_families_differ(m, x)) {
		fix_family(m, x, f);
	} else if (cause == CAUSE_NO_ROUTE || cause == CAUSE_NO_WAY_BACK) {
		const struct mesh_node *there = &m->nodes[x->others.v[0]];

		finding_fix(f, "%s route get %s   # on %s: should leave through %s", ip_for(there),
			    addr_print(&there->addr, &text), host, at->iface ?: "an interface");
	} else if (cause == CAUSE_PATHS) {
		finding_fix(f,
			    "%s route get %s   # on %s: several next hops there, or else in the "
			    "network: ports of a bundle (LAG), routers beside each other",
			    ip_for(&m->nodes[x->of_first.v[0]]), one.s, at->name);
	} else if (port_cause_option(cause)) {
		finding_fix(f, "tracepath -n %s   # on %s: what is in between? " FIX_OPTIONS, one.s,
			    at->name);
	} else if (cause == CAUSE_BULK) {
		finding_fix(f,
			    "- allow ICMP \"fragmentation needed\" (type 3, code 4) to %s   # the "
			    "lasting cure",
			    host);
	} else if (cause == CAUSE_TRICKLE || cause == CAUSE_NO_BULK) {
		finding_fix(f, MESH_LOOK_AT_CARD, at->iface ?: "IFACE", at->iface ?: "IFACE", host);
	} else {
		return false;
	}
	return true;
}

/* It is up: it has told so. Are the questions for its hardware address lost, or the answers? */
static bool advise_unseen(const struct mesh *m, const struct mesh_gap *x, enum port_cause cause,
			  struct finding *f)
{
	size_t here = x->hosts.v[0], there = x->of_first.v[0];
	const struct mesh_node *at = &m->nodes[here];
	struct addr_text text;

	if (cause == CAUSE_NOBODY && at->asked)
		finding_fix(f, "sudo tcpdump -ni %s arp   # on %s, while windsock runs: %s",
			    at->iface ?: "any", at->name,
			    x->in ? "questions that stay without answer: arp_ignore, or rules of "
				    "arptables; none: another VLAN, ports of the switch, or "
				    "macvlans of one card, that are kept apart, or a link that "
				    "came less than a minute ago "
				    "(spanning tree: again in a minute)"
				  : "answers that come in: rules of arptables drop them; none: "
				    "another VLAN, or the port of the switch");
	else if (cause == CAUSE_NOBODY || cause == CAUSE_NOBODY_THERE ||
		 cause == CAUSE_NO_ROUTE_THERE || cause == CAUSE_NOT_SEEN6)
		finding_fix(f, "%s route get %s   # on %s", ip_for(&m->nodes[there]),
			    addr_print(&m->nodes[x->in ? here : there].addr, &text),
			    m->nodes[x->in ? there : here].name);
	else
		return false;
	return true;
}

/* The rules there could not be read: what whoever manages them takes, or how to see them. */
static void fix_blind(const struct mesh *m, const struct mesh_gap *x, const str_list *peers,
		      struct finding *f)
{
	const index_list blind = mesh_unread(m, &x->hosts);
	const struct mesh_node *at;
	str_list let = {0};

	if (!blind.n)
		return;
	at = &m->nodes[blind.v[0]];
	for (size_t i = 0; x->in && at->rules_fix && i < peers->n; i++)
		*LIST_ADD(m->a, &let) = replaced(m, at->rules_fix, "ADDRESS", peers->v[i]);
	mesh_type(m, &blind, &let, NULL, f);
	mesh_look_at_rules(m, &blind, "names the rule", f);
}

/* What is cheap to try, where all of them asked with it. */
static void fix_ecn(const struct mesh *m, const index_list *askers, struct finding *f)
{
	const str_list command = {.v = (const char *[]){MESH_NO_ECN}, .n = 1};

	if (mesh_ecn_always(m, askers).n == askers->n)
		mesh_type(m, askers, &command, NULL, f);
}

/* Of what few packets have: it is not likely. */
static void fix_seldom(const struct mesh *m, const struct mesh_gap *x, const str_list *peers,
		       struct finding *f)
{
	const struct mesh_rule *rule = x->example->seldom;
	str_list let = {0};

	if (!rule)
		return;
	let_through(m, rule, peers, &let);
	mesh_type(m, mesh_rule_is_in(rule) == x->in ? &x->hosts : &x->others, &let,
		  "it is that rule", f);
}

void mesh_fix(const struct mesh *m, const struct mesh_gap *x, enum port_cause cause,
	      struct finding *f)
{
	const char *host = mesh_names_of(m, &x->hosts);
	str_list peers = {0};

	mesh_type(m, &x->hosts, &x->commands, NULL, f);
	if ((x->stops && x->commands.n && !x->example->rule->perhaps) ||
	    cause == CAUSE_NEIGHBOURS || cause == CAUSE_OWN_ROUTE ||
	    (x->commands.n && cause == CAUSE_NO_WAY_BACK))
		return;
	mesh_peers(m, x, &peers);
	if (advise_way(m, x, cause, joined(m, &peers, LINE), f))
		return;
	if (cause == CAUSE_NOT_SEEN6 && m->nodes[x->hosts.v[0]].rules_cut)
		mesh_look_at_rules(m, &x->hosts, "names such a rule; again, once it is gone", f);
	if (cause == CAUSE_NOT_SEEN6)
		fix_blind(m, x, &peers, f);
	if (advise_unseen(m, x, cause, f))
		return;
	fix_blind(m, x, &peers, f);
	if (cause == CAUSE_DROPPED)
		fix_ecn(m, x->in ? &x->others : &x->hosts, f);
	finding_fix(f, "- allow all TCP %s %s on %s", x->in ? "from" : "to",
		    joined(m, &peers, LINE), host);
	if (cause == CAUSE_DROPPED)
		finding_fix(f,
			    "aws ec2 authorize-security-group-%s --group-id GROUP --ip-permissions "
			    "'IpProtocol=-1,UserIdGroupPairs=[{GroupId=GROUP}]'   # on EC2; GROUP: "
			    "the one that all nodes are in",
			    x->in ? "ingress" : "egress");
	fix_seldom(m, x, &peers, f);
}
