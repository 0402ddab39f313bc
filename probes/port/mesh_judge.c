/* What is wrong about ports, in the fewest rules that would mend it (mesh_cover.c). */
#include "lib/report/json.h"
#include "probes/port/fix.h"
#include "probes/port/mesh.h"

enum { MOST_ADDRESSES = 4 };

typedef LIST(size_t) index_list;

/* --- the findings ------------------------------------------------------------------ */
struct rule {
	bool in;
	bool all; /* every other host is concerned */
	index_list hosts, others;
	size_t ports_bad, ports_all;
	const struct mesh_cell *example;
	unsigned fits; /* CAUSE_BULK: packets that pass; 0: not found */
};

static bool is_edge(const struct mesh *m, enum port_cause cause, size_t from, size_t to)
{
	const struct mesh_cell *c = mesh_at(m, from, to);

	return mesh_cell_is_bad(c) && c->cause == cause;
}

static void collect(const struct mesh *m, enum port_cause cause, size_t host, bool in,
		    struct rule *ret)
{
	size_t known = 0;

	*ret = (struct rule){.in = in};
	*LIST_ADD(m->a, &ret->hosts) = host;
	for (size_t i = 0; i < m->n; i++) {
		size_t from = in ? i : host, to = in ? host : i;
		const struct mesh_cell *c = mesh_at(m, from, to);

		known += i != host && c->row;
		if (!is_edge(m, cause, from, to))
			continue;
		*LIST_ADD(m->a, &ret->others) = i;
		ret->ports_bad += c->bad;
		ret->ports_all += m->nodes[to].ports.n;
		if (!ret->example || (c->rule && !ret->example->rule))
			ret->example = c;
		if (c->cut && (!ret->fits || c->path_mtu < ret->fits))
			ret->fits = c->path_mtu;
	}
	ret->all = ret->others.n == known && known;
}

static bool same_rule(const struct rule *x, const struct rule *y, enum port_cause cause)
{
	if (cause == CAUSE_NEIGHBOURS) /* one setting, on all of them */
		return true;
	return x->in == y->in && x->all && y->all && !x->example->rule && !y->example->rule &&
	       x->fits == y->fits && (x->ports_bad < x->ports_all) == (y->ports_bad < y->ports_all);
}

static const char *folded(const struct mesh *m, const index_list *l)
{
	return mesh_folded(m, l->v, l->n);
}

/* Subnets where everybody is meant, or many, else addresses; each once. */
static void peers_of(const struct mesh *m, const struct rule *x, str_list *ret)
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
static void fix_one_rule(const struct mesh *m, const struct rule *x, const char *fix,
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
static void fix_example(const struct mesh *m, const struct rule *x, const str_list *peers,
			const char *host, struct finding *f)
{
	fix_one_rule(m, x, x->example->fix, peers, host, f);
	for (const struct mesh_more *i = x->example->more; i; i = i->next)
		if (*i->fix)
			fix_one_rule(m, x, i->fix, peers, host, f);
}

/* What no rule lets in or out. */
static bool fix_way(const struct mesh *m, const struct rule *x, enum port_cause cause,
		    const char *peers, struct finding *f)
{
	const struct mesh_node *at = &m->nodes[x->hosts.v[0]];
	const char *host = folded(m, &x->hosts);
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
			    x->in ? host : folded(m, &x->others));
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

/* Those of them whose firewall was not looked at. */
static index_list unknown(const struct mesh *m, const index_list *l)
{
	index_list ret = {0};

	for (size_t i = 0; i < l->n; i++)
		if (!m->nodes[l->v[i]].rules_known)
			*LIST_ADD(m->a, &ret) = l->v[i];
	return ret;
}

static bool all_known(const struct mesh *m, const index_list *l) { return !unknown(m, l).n; }

/* The rules there could not be read: what whoever manages them takes, or how to see them. */
static void fix_blind(const struct mesh *m, const struct rule *x, const str_list *peers,
		      struct finding *f)
{
	const index_list blind = unknown(m, &x->hosts);
	const struct mesh_node *at;

	if (!blind.n)
		return;
	at = &m->nodes[blind.v[0]];
	for (size_t i = 0; x->in && at->rules_fix && i < peers->n; i++)
		finding_fix(f, "%s   # on %s", replaced(m, at->rules_fix, "ADDRESS", peers->v[i]),
			    folded(m, &blind));
	finding_fix(f, "sudo portcheck   # on %s: names the rule", folded(m, &blind));
}

static void fix_rule(const struct mesh *m, const struct rule *x, enum port_cause cause,
		     struct finding *f)
{
	const char *host = folded(m, &x->hosts);
	str_list peers = {0};

	peers_of(m, x, &peers);
	if (x->example->rule && *x->example->fix) {
		fix_example(m, x, &peers, host, f);
		return;
	}
	if (cause == CAUSE_NEIGHBOURS) {
		fix_neighbours(f);
		return;
	}
	if (fix_way(m, x, cause, joined(m, &peers), f) ||
	    mesh_fix_route(m, cause, x->hosts.v[0], x->others.v[0], host, f))
		return;
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

static const char *ports_text(const struct mesh *m, const struct rule *x)
{
	if (x->ports_bad == x->ports_all)
		return "";
	return arena_printf(m->a, " (%zu of %zu ports, such as %u)", x->ports_bad, x->ports_all,
			    x->example->bad_port);
}

/* One way only is what stateless rules and a missing egress rule look like: say it. */
static const char *way_back(const struct mesh *m, const struct rule *x, enum port_cause cause)
{
	const struct mesh_cell *back;
	size_t here = x->hosts.v[0], there = x->others.v[0];

	if (x->hosts.n != 1 || x->others.n != 1)
		return "";
	back = x->in ? mesh_at(m, here, there) : mesh_at(m, there, here);
	if (!back->row)
		return "";
	return mesh_cell_is_bad(back) && (back->cause == cause || cause != CAUSE_BULK)
		       ? "; the way back fails too"
		       : "; the way back works";
}

static const char *not_looked_at(const struct mesh *m, const struct rule *x)
{
	const index_list blind = unknown(m, &x->hosts);
	const char *why = m->nodes[blind.v[0]].rules_trouble;

	return arena_printf(m->a, "; the firewall of %s was not looked at: %s", folded(m, &blind),
			    why ? why : "which takes root there");
}

/* No rule there explains it: were they looked at, and what remains? */
static const char *whose_rules(const struct mesh *m, const struct rule *x, enum port_cause cause)
{
	bool here = all_known(m, &x->hosts), there = all_known(m, &x->others);

	if (here && there)
		return cause == CAUSE_DROPPED
			       ? "; the rules of both ends let it through: a security group"
			       : "; the rules of both ends let it through";
	return here ? "" : not_looked_at(m, x);
}

/* A rule of the host's own it is, whichever. */
static bool is_firewalls(enum port_cause cause)
{
	return cause == CAUSE_HOST_FIREWALL || cause == CAUSE_LIMITED ||
	       cause == CAUSE_OWN_FIREWALL || cause == CAUSE_RESET;
}

static const char *detail(const struct mesh *m, const struct rule *x, enum port_cause cause)
{
	if (x->example->rule) {
		const char *text = arena_printf(m->a, ": %s", x->example->rule);

		for (const struct mesh_more *i = x->example->more; i; i = i->next)
			text = arena_printf(m->a, "%s; and %s", text, i->rule);
		return text;
	}
	if (cause == CAUSE_DROPPED || cause == CAUSE_LOST_ANSWER)
		return whose_rules(m, x, cause);
	if (is_firewalls(cause) && !all_known(m, &x->hosts))
		return not_looked_at(m, x);
	if (cause == CAUSE_BULK && x->fits)
		return arena_printf(m->a, "; packets of %u bytes pass", x->fits);
	if (cause == CAUSE_BULK)
		return "; none of the smaller sizes tried passes either";
	return "";
}

static void emit(const struct mesh *m, const struct rule *x, enum port_cause cause)
{
	const char *host = folded(m, &x->hosts), *others = folded(m, &x->others);
	const char *check = cause == CAUSE_BULK ? "mesh.bulk" : x->in ? "mesh.in" : "mesh.out";
	const char *who = x->hosts.n == 1 && x->others.n == 1 ? others
			  : x->all			      ? "any other node"
			  : x->hosts.n > 1		      ? "some others"
							      : others;
	bool many = x->hosts.n > 1, bulk = cause == CAUSE_BULK;
	struct finding *f = report_find(m->report, check, host);

	finding_set(f, ST_FAIL, "%s %s%s: %s%s%s",
		    x->in ? (many ? "are not reached from" : "is not reached from")
			  : (many ? "do not reach" : "does not reach"),
		    who, bulk ? " by bulk data" : ports_text(m, x), port_cause_text(cause),
		    detail(m, x, cause), way_back(m, x, cause));
	if (bulk)
		finding_expect(f, "%d KiB arrive", MESH_BULK_BYTES >> 10);
	else
		finding_expect(f, "%s", m->o->expect_open ? "open" : "an answer: open or refused");
	fix_rule(m, x, cause, f);
	report_add(m->report, f);
}

static void data_rule(const struct mesh *m, const struct rule *x, enum port_cause cause)
{
	cJSON *data = report_data(m->report), *list = cJSON_GetObjectItem(data, "rules"), *o;
	str_list peers = {0};
	cJSON *on, *with;

	if (!list)
		list = json_array(data, "rules");
	o = json_push_object(list);
	json_str(o, "direction", x->in ? "in" : "out");
	on = json_array(o, "on");
	with = json_array(o, x->in ? "from" : "to");
	peers_of(m, x, &peers);
	for (size_t i = 0; i < x->hosts.n; i++)
		json_push_str(on, m->nodes[x->hosts.v[i]].name);
	for (size_t i = 0; i < peers.n; i++)
		json_push_str(with, peers.v[i]);
	json_str(o, "cause", port_cause_text(cause));
	json_str(o, "rule", x->example->rule);
}

static void join(const struct mesh *m, struct rule *to, const struct rule *x)
{
	*LIST_ADD(m->a, &to->hosts) = x->hosts.v[0];
	for (size_t i = 0; i < x->others.n; i++)
		*LIST_ADD(m->a, &to->others) = x->others.v[i];
	to->all &= x->all;
	to->ports_bad += x->ports_bad;
	to->ports_all += x->ports_all;
}

static void judge_cause(const struct mesh *m, enum port_cause cause)
{
	LIST(struct rule) rules = {0};
	struct mesh_cover v;
	size_t n = m->n;

	mesh_cover(m, cause, &v);
	for (size_t i = 0; i < 2 * n; i++) {
		struct rule x;
		size_t k = 0;

		if (i < n ? !v.in[i] : !v.out[i - n])
			continue;
		collect(m, cause, i % n, i < n, &x);
		while (k < rules.n && !same_rule(&rules.v[k], &x, cause))
			k++;
		if (k == rules.n)
			*LIST_ADD(m->a, &rules) = x;
		else
			join(m, &rules.v[k], &x);
	}
	for (size_t i = 0; i < rules.n; i++) {
		emit(m, &rules.v[i], cause);
		if (report_wants_data(m->report))
			data_rule(m, &rules.v[i], cause);
	}
}

void mesh_judge(const struct mesh *m)
{
	for (enum port_cause c = 0; c < CAUSE_COUNT; c++)
		judge_cause(m, c);
}
