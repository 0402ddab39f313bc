/*
 * torch.distributed's store and torchrun. Rank 0 listens on every address, so
 * no interface is chosen there: MASTER_ADDR decides by what it resolves to.
 * Whether torchrun's c10d rendezvous takes this host for the store's host is
 * a heuristic of its own (it compares names and the addresses of the host
 * name, not of the interfaces), and where it is wrong, nobody hosts the store.
 */
#include "lib/core/quote.h"
#include "lib/host/hostname.h"
#include "lib/host/sysroot.h"
#include "probes/rules/names.h"
#include "probes/rules/torch.h"

#include <arpa/inet.h>

/* --- torchrun's own question: is this host the store's host? ------------------------- */
/* Python's ipaddress: stricter than the resolver, so "05" is a name there. */
static bool strict_addr(const char *s, union addr *ret)
{
	*ret = (union addr){.v4.sin_family = AF_INET};
	if (inet_pton(AF_INET, s, &ret->v4.sin_addr) == 1)
		return true;
	return strchr(s, ':') && *s != '[' && addr_parse(s, ret) == 0;
}

static bool holds(const addr_list *list, const union addr *addr)
{
	for (size_t i = 0; i < list->n; i++)
		if (addr_equal(&list->v[i], addr))
			return true;
	return false;
}

static bool share_one(const addr_list *a, const addr_list *b)
{
	for (size_t i = 0; i < a->n; i++)
		if (holds(b, &a->v[i]))
			return true;
	return false;
}

enum store_host torch_store_host(const char *host, const struct name_answer *host_addrs,
				 const char *me, const struct name_answer *my_addrs)
{
	union addr literal;
	bool is_literal = strict_addr(host, &literal);

	if (streq(host, "localhost") || streq(host, me))
		return STORE_HERE;
	if (is_literal && addr_class(&literal) == ADDR_LOOPBACK)
		return STORE_HERE;
	if (!my_addrs->addrs.n)
		return STORE_ERROR;
	if (my_addrs->canonical && streq(my_addrs->canonical, host))
		return STORE_HERE;
	if (is_literal)
		return holds(&my_addrs->addrs, &literal) ? STORE_HERE : STORE_ELSEWHERE;
	return share_one(&my_addrs->addrs, &host_addrs->addrs) ? STORE_HERE_NEWER : STORE_ELSEWHERE;
}

static const struct {
	const char *rule, *says;
} store_words[] = {
	[STORE_HERE] = {"MASTER_ADDR:hosts", "torchrun takes this host for the store's host"},
	[STORE_HERE_NEWER] = {"MASTER_ADDR:hosts-newer",
			      "a current torchrun takes this host for the store's host; older ones "
			      "(1.x) do not"},
	[STORE_ELSEWHERE] = {"MASTER_ADDR:connects", "torchrun connects to it"},
	[STORE_ERROR] = {"MASTER_ADDR:torchrun-fails",
			 "torchrun's c10d rendezvous stops, because this host's name does not "
			 "resolve"},
};

/* --- predict --------------------------------------------------------------------------- */
struct view {
	struct name_answer master, me;
	const struct iface_addr
		*owner; /* the interface of ours that MASTER_ADDR leads to, or NULL */
	enum store_host store;
};

static void look(const struct rules_input *in, const char *master, struct view *v)
{
	*v = (struct view){0};
	v->me = *name_ask(in->names, in->inv->hostname, in->inv->a);
	if (!master)
		return;
	v->master = *name_ask(in->names, master, in->inv->a);
	for (size_t i = 0; i < v->master.addrs.n && !v->owner; i++)
		v->owner = names_owner(in->inv, &v->master.addrs.v[i]);
	v->store = torch_store_host(master, &v->master, in->inv->hostname, &v->me);
}

static bool unnoticed(const struct view *v) { return v->owner && v->store == STORE_ELSEWHERE; }
static bool misled(const struct view *v) { return !v->owner && v->store == STORE_HERE; }

/* MASTER_ADDR is elsewhere: the way there, which also is the address peers see. */
static void by_route(const struct rules_input *in, const union addr *to, struct prediction *p)
{
	AUTO(netlink_close) struct netlink nl = {0};
	const struct iface *iface;
	struct route route = {0};
	union addr source = {0};
	struct addr_text t;
	struct err e = {0};

	if (netlink_open(&nl, sysroot_netlink(in->inv->a), &e) < 0 ||
	    netlink_route(&nl, to, 0, NULL, &route, &e) < 0)
		return; /* not known: the prediction has no interface */
	iface = route.reachable ? inventory_by_index(in->inv, route.oif) : NULL;
	if (!iface) {
		predict_fail(in, p, OUTCOME_FAILS, "MASTER_ADDR:no-route", "no way to %s: %s",
			     addr_print(to, &t), route.why ? route.why : "no route");
		return;
	}
	source.sa.sa_family = to->sa.sa_family;
	if (to->sa.sa_family == AF_INET)
		memcpy(&source.v4.sin_addr, route.source, 4);
	else
		memcpy(&source.v6.sin6_addr, route.source, 16);
	predict_add(in, p, iface->name, route.has_source ? &source : NULL);
}

static void predict_unset(const struct rules_input *in, struct prediction *p)
{
	static const char rule[] = "MASTER_ADDR:unset";
	const char *me = in->inv->hostname;
	const struct iface_addr *owner;
	struct view v;

	look(in, NULL, &v);
	owner = v.me.addrs.n ? names_owner(in->inv, &v.me.addrs.v[0]) : NULL;
	if (!owner) {
		predict_fail(in, p, OUTCOME_FAILS, rule,
			     "MASTER_ADDR is unset, and torchrun would publish this host's name: "
			     "%s %s",
			     me, v.me.trouble ? v.me.trouble : "leads to another machine");
		return;
	}
	p->rule = rule;
	p->why = arena_printf(in->inv->a,
			      "MASTER_ADDR is unset: torchrun publishes the name of the node it "
			      "elects, here %s; without torchrun, init_process_group() stops",
			      me);
	predict_add(in, p, owner->label, &v.me.addrs.v[0]);
	predict_reach(in, p, owner->iface, &v.me.addrs.v[0]);
}

static void judge_store(const struct view *v, struct prediction *p, const char **ret_says)
{
	p->rule = store_words[v->store].rule;
	*ret_says = store_words[v->store].says;
	if (unnoticed(v)) {
		p->rule = "MASTER_ADDR:unnoticed";
		*ret_says = "torchrun's c10d rendezvous does not notice, so nobody hosts the store";
	} else if (misled(v)) {
		p->rule = "MASTER_ADDR:misled";
		*ret_says = "torchrun's c10d rendezvous hosts the store here all the same, where "
			    "nobody looks for it";
	}
}

static void predict(const struct rules_input *in, struct prediction *p)
{
	struct addr_text t;
	const char *says;
	struct view v;

	*p = (struct prediction){0};
	if (!in->master_addr) {
		predict_unset(in, p);
		return;
	}
	look(in, in->master_addr, &v);
	if (!v.master.addrs.n) {
		predict_fail(in, p, OUTCOME_FAILS, "MASTER_ADDR:unresolved", "MASTER_ADDR=%s %s",
			     in->master_addr, v.master.trouble);
		return;
	}
	judge_store(&v, p, &says);
	p->why = arena_printf(in->inv->a, "MASTER_ADDR=%s is %s, %s; %s", in->master_addr,
			      addr_print(&v.master.addrs.v[0], &t),
			      v.owner ? "an address of this host" : "another machine's", says);
	if (v.owner) {
		predict_add(in, p, v.owner->label, &v.master.addrs.v[0]);
		predict_reach(in, p, v.owner->iface, &v.master.addrs.v[0]);
	} else {
		p->reachable = true;
		by_route(in, &v.master.addrs.v[0], p);
	}
}

/* --- check: what torchrun makes of MASTER_ADDR ------------------------------------------ */
/* torch 2.15 waits five minutes for a store under the own name, wherever that leads to. */
static void check_own_name(const struct rules_input *in, const struct view *v, struct report *r)
{
	candidate_list best = {0};
	struct addr_text t;
	struct finding *f;

	for (size_t i = 0; i < v->me.addrs.n; i++)
		if (names_owner(in->inv, &v->me.addrs.v[i]))
			return;
	if (!v->me.addrs.n)
		return; /* said with the store */
	f = report_find(r, "lint.torch.own_name", in->inv->hostname);
	finding_set(f, ST_WARN,
		    "this host's name %s leads to %s, no address of this host: a current "
		    "torchrun's c10d rendezvous opens the workers' store under that name and "
		    "waits there",
		    in->inv->hostname, addr_print(&v->me.addrs.v[0], &t));
	rank_ifaces(in->inv, 0, &best);
	finding_fix(f, "torchrun --local-addr %s ...",
		    best.n && best.v[0].usable ? addr_print(&best.v[0].addr->addr, &t)
					       : "ADDRESS_OF_THIS_HOST");
	report_add(r, f);
}

void torch_check_store(const struct rules_input *in, struct report *r)
{
	struct finding *f;
	struct view v;

	look(in, in->master_addr, &v);
	torch_check_resolved(in, &v.master, v.owner, r);
	check_own_name(in, &v, r);
	if (!unnoticed(&v) && v.store != STORE_ERROR)
		return;
	f = report_find(r, "lint.torch.store_host", "MASTER_ADDR");
	if (v.store == STORE_ERROR)
		finding_set(f, ST_WARN,
			    "this host's name %s %s: torchrun's c10d rendezvous stops there",
			    in->inv->hostname, v.me.trouble ? v.me.trouble : "has no address");
	else
		finding_set(f, ST_WARN,
			    "MASTER_ADDR=%s is an address of this host (%s), but torchrun's c10d "
			    "rendezvous only knows the addresses of the name %s: nobody hosts the "
			    "store",
			    in->master_addr, v.owner->label, in->inv->hostname);
	finding_fix(f, "torchrun --rdzv-backend c10d --rdzv-endpoint %s --rdzv-conf is_host=1 ...",
		    shell_quote(in->inv->a, in->master_addr));
	report_add(r, f);
}

/* --- suggest ------------------------------------------------------------------------------ */
static void suggest(const struct rules_input *in, struct suggestion *s)
{
	if (!settings_env("TP_SOCKET_IFNAME") && names_host_is(in->inv, &s->addr->addr))
		suggest_left_out(s, "TP_SOCKET_IFNAME: the host name leads to %s already",
				 s->iface->name);
	else
		suggest_env(s, "TP_SOCKET_IFNAME", "torch RPC would go by the host name", "%s",
			    s->addr->label);
}

const struct rules rules_torch = {.name = "torch",
				  .title = "torchrun / TCPStore",
				  .predict = predict,
				  .check = torch_check,
				  .suggest = suggest};
