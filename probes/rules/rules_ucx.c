/*
 * UCX: RDMA where an active port is there, else TCP over any active device.
 * UCX_NET_DEVICES names devices of both kinds in one list (mlx5_0:1,eth0), so
 * naming an Ethernet interface alone switches RDMA off.
 */
#include "lib/core/quote.h"
#include "lib/host/leads.h"
#include "probes/rules/names.h"
#include "probes/rules/nccl.h"

#include <net/if.h>

#define VAR "UCX_NET_DEVICES"

struct device {
	const char *name;
	const struct iface_addr *ia; /* NULL: an RDMA port */
};
typedef LIST(struct device) device_list;

static void rdma_devices(const struct rules_input *in, device_list *ret)
{
	if (!in->rdma || !in->rdma->n || !nccl_ib_can_open(in)) /* as in a container */
		return;
	for (size_t i = 0; i < in->rdma->n; i++) {
		const struct rdma_device *d = &in->rdma->v[i];

		for (size_t j = 0; j < d->ports.n; j++)
			if (d->ports.v[j].active)
				LIST_ADD(in->inv->a, ret)->name = arena_printf(
					in->inv->a, "%s:%u", d->name, d->ports.v[j].number);
	}
}

static void net_devices(const struct rules_input *in, device_list *ret)
{
	for (size_t i = 0; i < in->inv->ifaces.n; i++) {
		const struct iface *f = &in->inv->ifaces.v[i];
		const struct iface_addr *ia = iface_best_addr(in->inv, f, 0);

		if (iface_is_up(f) && iface_is_running(f) && !(f->flags & IFF_LOOPBACK) && ia)
			*LIST_ADD(in->inv->a, ret) = (struct device){f->name, ia};
	}
}

static bool in_list(const str_list *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (streq(names->v[i], name))
			return true;
	return false;
}

/* UCX_TLS=tcp,self leaves RDMA out as surely as a device list does. */
static bool tls_without_rdma(struct arena *a)
{
	static const char *const rdma[] = {"all",      "ib",	  "rc", "rc_v", "rc_x",
					   "rc_verbs", "rc_mlx5", "ud", "ud_v", "ud_x",
					   "dc",       "dc_x",	  "srd"};
	const char *v = settings_env("UCX_TLS");
	str_list names;

	if (!v || !*v || *v == '^')
		return false;
	names_split(v, ",", false, a, &names);
	for (size_t i = 0; i < ARRAY_LEN(rdma); i++)
		if (in_list(&names, rdma[i]))
			return false;
	return true;
}

static bool takes_any(const device_list *from, const str_list *names, bool negate)
{
	for (size_t i = 0; i < from->n; i++)
		if (in_list(names, from->v[i].name) != negate)
			return true;
	return false;
}

/* --- predict ---------------------------------------------------------------------------- */
static void take(const struct rules_input *in, struct prediction *p, const device_list *from,
		 const str_list *names, bool negate)
{
	for (size_t i = 0; i < from->n; i++)
		if (!names || in_list(names, from->v[i].name) != negate)
			predict_add(in, p, from->v[i].name,
				    from->v[i].ia ? &from->v[i].ia->addr : NULL);
}

static void finish(const struct rules_input *in, struct prediction *p, const device_list *net,
		   const char *value)
{
	const struct iface_addr *ia = NULL;

	if (!p->interfaces.n && value)
		predict_fail(in, p, OUTCOME_FAILS, VAR, VAR "=%s matches no active device", value);
	else if (!p->interfaces.n)
		predict_fail(in, p, OUTCOME_NONE, "automatic:tcp", "no active network device");
	if (!p->interfaces.n)
		return;
	for (size_t i = 0; i < net->n && !ia; i++)
		if (streq(net->v[i].name, p->interface))
			ia = net->v[i].ia;
	predict_reach(in, p, ia ? ia->iface : NULL, ia ? &ia->addr : NULL);
}

static void predict(const struct rules_input *in, struct prediction *p)
{
	const char *v = settings_env(VAR);
	device_list rdma = {0}, net = {0};
	bool negate;
	str_list names;

	*p = (struct prediction){0};
	if (!tls_without_rdma(in->inv->a))
		rdma_devices(in, &rdma);
	net_devices(in, &net);
	if (v && *v && !streq(v, "all")) {
		negate = *v == '^';
		names_split(v + negate, ",", false, in->inv->a, &names);
		p->rule = VAR;
		p->why = arena_printf(in->inv->a, VAR "=%s", v);
		take(in, p, &rdma, &names, negate);
		take(in, p, &net, &names, negate);
	} else {
		v = NULL;
		p->rule = rdma.n ? "automatic:rdma" : "automatic:tcp";
		p->why = rdma.n ? "an active RDMA port is preferred to TCP"
				: "no active RDMA port: TCP over any active interface";
		take(in, p, rdma.n ? &rdma : &net, NULL, false);
	}
	finish(in, p, &net, v);
}

/* --- check -------------------------------------------------------------------------------- */
static const char *missing(const str_list *names, const device_list *rdma, const device_list *net)
{
	for (size_t i = 0; i < names->n; i++) {
		bool found = false;

		for (size_t j = 0; j < rdma->n; j++)
			found |= streq(rdma->v[j].name, names->v[i]);
		for (size_t j = 0; j < net->n; j++)
			found |= streq(net->v[j].name, names->v[i]);
		if (!found)
			return names->v[i];
	}
	return NULL;
}

/* The first that is named and that no peer reaches. */
static const struct device *unreached(const struct rules_input *in, const str_list *names,
				      const device_list *net, const char **ret_why)
{
	for (size_t i = 0; i < net->n; i++) {
		const struct iface_addr *ia = net->v[i].ia;

		if (!in_list(names, net->v[i].name))
			continue;
		*ret_why = leads_nowhere(in->inv, ia->iface, &ia->addr);
		if (*ret_why && !names_must_be(in, ia))
			return &net->v[i];
	}
	return NULL;
}

/* An RDMA port beside it has to stay. */
static const char *without(const struct rules_input *in, const str_list *names, const char *name)
{
	struct text t;

	text_init(&t, in->inv->a);
	for (size_t i = 0; i < names->n; i++)
		if (!streq(names->v[i], name))
			text_addf(&t, "%s%s", t.n ? "," : "", names->v[i]);
	return t.n ? shell_quote(in->inv->a, t.s) : names_best(in);
}

static void judge_reach(const struct rules_input *in, const char *v, const str_list *names,
			const device_list *net, struct finding *f)
{
	const struct device *d;
	struct addr_text t;
	const char *why;

	d = unreached(in, names, net, &why);
	if (!d) {
		finding_set(f, ST_PASS, VAR "=%s: every device is here", v);
		return;
	}
	finding_set(f, ST_WARN, VAR "=%s lets %s in, whose address %s %s", v, d->name,
		    addr_print(&d->ia->addr, &t), why);
	finding_fix(f, "export " VAR "=%s", without(in, names, d->name));
}

static void check(const struct rules_input *in, struct report *r)
{
	const char *v = settings_env(VAR), *gone;
	device_list rdma = {0}, net = {0};
	struct finding *f;
	str_list names;

	if (!v || !*v || *v == '^' || streq(v, "all"))
		return;
	rdma_devices(in, &rdma);
	net_devices(in, &net);
	names_split(v, ",", false, in->inv->a, &names);
	gone = missing(&names, &rdma, &net);
	f = report_find(r, "lint.ucx.net_devices", VAR);
	if (gone) {
		finding_set(f, ST_FAIL,
			    VAR "=%s: %s is no active device here (RDMA ports are written "
				"mlx5_0:1)",
			    v, gone);
		finding_fix(f, "unset " VAR);
	} else if (rdma.n && !takes_any(&rdma, &names, false)) {
		finding_set(f, ST_WARN,
			    VAR "=%s names no RDMA port: this switches RDMA off for UCX, "
				"and %s is active here",
			    v, rdma.v[0].name);
		finding_fix(f, "unset " VAR);
	} else {
		judge_reach(in, v, &names, &net, f);
	}
	report_add(r, f);
}

/* --- suggest ------------------------------------------------------------------------------ */
/* Does what is set leave out what is meant: every RDMA port or, where there is none, @name? */
static bool leaves_out(struct arena *a, const device_list *rdma, const char *name)
{
	const char *v = settings_env(VAR);
	bool negate = v && *v == '^';
	str_list names;

	if (!v || !*v || streq(v, "all"))
		return false;
	names_split(v + negate, ",", false, a, &names);
	return rdma->n ? !takes_any(rdma, &names, negate) : in_list(&names, name) == negate;
}

static void suggest(const struct rules_input *in, struct suggestion *s)
{
	device_list rdma = {0}, net = {0};
	bool has_cards = in->rdma && in->rdma->n, is_out; /* a port that is down comes up again */
	const char *entry;

	rdma_devices(in, &rdma);
	net_devices(in, &net);
	is_out = leaves_out(in->inv->a, &rdma, s->iface->name);
	entry = *s->iface->name == '^' ? NULL : names_entry(s->a, s->iface->name, false);
	if (has_cards && is_out)
		suggest_env(s, VAR,
			    rdma.n ? "what is set would switch RDMA off"
				   : "what is set leaves this interface out",
			    "all");
	else if (has_cards)
		suggest_left_out(s,
				 VAR ": RDMA devices are here, and naming %s alone would switch "
				     "them off",
				 s->iface->name);
	else if (net.n == 1 && streq(net.v[0].name, s->iface->name) && !is_out)
		suggest_left_out(s, VAR ": %s is the only device UCX could use", s->iface->name);
	else if (!entry)
		suggest_left_out(s, VAR ": no entry of its list can mean %s alone", s->iface->name);
	else
		suggest_env(s, VAR, "UCX would use any active device", "%s", entry);
}

const struct rules rules_ucx = {
	.name = "ucx", .title = "UCX", .predict = predict, .check = check, .suggest = suggest};
