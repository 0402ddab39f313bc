/* What closes a gap between hosts: the command, and the hosts that it is to be typed on. */
#include "probes/port/fix.h"
#include "probes/port/mesh_judge.h"

enum { MOST_ADDRESSES = 4 };

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

static const char *joined(const struct mesh *m, const str_list *l)
{
	struct text t;

	text_init(&t, m->a);
	for (size_t i = 0; i < l->n && t.n < 200; i++)
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
static void fix_one_rule(const struct mesh *m, const struct mesh_gap *x, const char *fix,
			 const str_list *peers, const char *host, struct finding *f)
{
	const char *peer = x->example->fix_peer;

	if (!*peer) {
		finding_fix(f, "%s   # on %s", fix, host);
		return;
	}
	if (strstr(fix, "nft ") && peers->n > 1) {
		const char *set = arena_printf(m->a, "{ %s }", joined(m, peers));

		finding_fix(f, "%s   # on %s", replaced(m, fix, peer, set), host);
		return;
	}
	for (size_t i = 0; i < peers->n; i++)
		finding_fix(f, "%s   # on %s", replaced(m, fix, peer, peers->v[i]), host);
}

/* All of them: each of its chains has to let it through. */
static void fix_example(const struct mesh *m, const struct mesh_gap *x, const str_list *peers,
			const char *host, struct finding *f)
{
	fix_one_rule(m, x, x->example->fix, peers, host, f);
	for (const struct mesh_more *i = x->example->more; i; i = i->next)
		if (*i->fix)
			fix_one_rule(m, x, i->fix, peers, host, f);
}

/* The host whose route it is: one that forbids goes, the one to its own network comes back. */
static bool fix_route(const struct mesh *m, enum port_cause cause, size_t at, size_t peer,
		      const char *host, struct finding *f)
{
	const struct mesh_node *here = &m->nodes[at], *there = &m->nodes[peer];
	const char *ip = there->addr.sa.sa_family == AF_INET6 ? "ip -6" : "ip";
	struct addr_text to;

	addr_print(&there->addr, &to);
	if (cause == CAUSE_OWN_ROUTE) {
		finding_fix(f,
			    "sudo %s route del $(%s route show to match %s | grep -E "
			    "'^(blackhole|unreachable|prohibit) ' | tail -n 1)   # on %s",
			    ip, ip, to.s, host);
		return true;
	}
	if (cause != CAUSE_NO_ROUTE && cause != CAUSE_NO_WAY_BACK)
		return false;
	if (cause == CAUSE_NO_ROUTE && here->iface && here->subnet && there->subnet &&
	    streq(here->subnet, there->subnet))
		finding_fix(f, "sudo %s route replace %s dev %s   # on %s", ip, here->subnet,
			    here->iface, host);
	finding_fix(f, "%s route get %s   # on %s: should leave through %s", ip, to.s, host,
		    here->iface ?: "an interface");
	return true;
}

/* What no rule lets in or out. */
static bool fix_way(const struct mesh *m, const struct mesh_gap *x, enum port_cause cause,
		    const char *peers, struct finding *f)
{
	const struct mesh_node *at = &m->nodes[x->hosts.v[0]];
	const char *host = mesh_names_of(m, &x->hosts);
	struct addr_text text;

	if (cause == CAUSE_RP_FILTER || cause == CAUSE_OWN_RP_FILTER) {
		finding_fix(f, "sudo sysctl -w net.ipv4.conf.all.rp_filter=2   # on %s", host);
		finding_fix(f, "ip route get %s   # on %s: should leave through %s", peers, host,
			    at->iface ?: "the same interface");
	} else if (cause == CAUSE_OTHER_WAY) {
		finding_fix(f, "ip route get %s   # on %s: should leave through %s", peers, host,
			    at->iface ?: "the same interface");
	} else if (cause == CAUSE_WAY_BACK) {
		finding_fix(f, "ip route get %s from %s   # on %s: should leave through %s", peers,
			    addr_print(&at->addr, &text), host, at->iface ?: "the same interface");
	} else if (cause == CAUSE_LOST_ANSWER) {
		finding_fix(f,
			    "allow TCP from the ports of %s to ports 1024-65535 of %s   # in "
			    "network ACLs, which are stateless",
			    x->in ? host : peers, x->in ? peers : host);
		finding_fix(f, "traceroute -n %s   # on %s: the way of the answer, if not that",
			    x->in ? peers : addr_print(&at->addr, &text),
			    x->in ? host : mesh_names_of(m, &x->others));
	} else if (cause == CAUSE_BULK) {
		if (x->fits)
			finding_fix(f, "sudo ip link set dev %s mtu %u   # on %s",
				    at->iface ?: "IFACE", x->fits, host);
		finding_fix(f,
			    "allow ICMP \"fragmentation needed\" (type 3, code 4) to %s   # the "
			    "lasting cure",
			    host);
	} else {
		return false;
	}
	return true;
}

/* The rules there could not be read: what whoever manages them takes, or how to see them. */
static void fix_blind(const struct mesh *m, const struct mesh_gap *x, const str_list *peers,
		      struct finding *f)
{
	const index_list blind = mesh_unread(m, &x->hosts);
	const struct mesh_node *at;

	if (!blind.n)
		return;
	at = &m->nodes[blind.v[0]];
	for (size_t i = 0; x->in && at->rules_fix && i < peers->n; i++)
		finding_fix(f, "%s   # on %s", replaced(m, at->rules_fix, "ADDRESS", peers->v[i]),
			    mesh_names_of(m, &blind));
	finding_fix(f, "sudo portcheck   # on %s: names the rule", mesh_names_of(m, &blind));
}

void mesh_fix(const struct mesh *m, const struct mesh_gap *x, enum port_cause cause,
	      struct finding *f)
{
	const char *host = mesh_names_of(m, &x->hosts);
	str_list peers = {0};

	mesh_peers(m, x, &peers);
	if (x->example->rule && *x->example->fix) {
		fix_example(m, x, &peers, host, f);
		return;
	}
	if (cause == CAUSE_NEIGHBOURS) {
		fix_neighbours(f);
		return;
	}
	if (fix_way(m, x, cause, joined(m, &peers), f) ||
	    fix_route(m, cause, x->hosts.v[0], x->others.v[0], host, f))
		return;
	if (cause == CAUSE_NOT_SEEN6 && m->nodes[x->hosts.v[0]].rules_cut)
		finding_fix(f,
			    "sudo portcheck   # on %s: names such a rule; again, once it is gone",
			    host);
	if (cause == CAUSE_NOT_SEEN6)
		fix_blind(m, x, &peers, f);
	if (cause == CAUSE_NOBODY || cause == CAUSE_NOBODY_THERE || cause == CAUSE_NO_ROUTE_THERE ||
	    cause == CAUSE_NOT_SEEN6) {
		finding_fix(f, "ip route get %s   # on %s", joined(m, &peers), host);
		return;
	}
	fix_blind(m, x, &peers, f);
	finding_fix(f, "allow all TCP %s %s on %s", x->in ? "from" : "to", joined(m, &peers), host);
	if (cause == CAUSE_DROPPED)
		finding_fix(f,
			    "aws ec2 authorize-security-group-%s --group-id GROUP --ip-permissions "
			    "'IpProtocol=-1,UserIdGroupPairs=[{GroupId=GROUP}]'   # on EC2; GROUP: "
			    "the one that all nodes are in",
			    x->in ? "ingress" : "egress");
}
