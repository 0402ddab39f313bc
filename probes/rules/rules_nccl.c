#include "lib/host/leads.h"
#include "lib/host/sysroot.h"
#include "probes/rules/names.h"
#include "probes/rules/nccl.h"

#include <linux/if_addr.h>

const char *nccl_value(const struct rules_input *in, const char *name)
{
	const struct setting *s = settings_nccl(in->settings, name);

	return s ? s->value : NULL;
}

bool nccl_ib_port_counts(const struct rdma_port *p)
{
	return p->active && (p->link == RDMA_INFINIBAND || p->link == RDMA_ROCE);
}

bool nccl_ib_port_connects(const struct rdma_port *p)
{
	return nccl_ib_port_counts(p) && !(p->link == RDMA_ROCE && p->gids_read && !p->gids.n);
}

bool nccl_ib_can_open(const struct rules_input *in)
{
	return !sysroot_is_real() || rdma_is_usable(in->inv->a);
}

/* NCCL takes the one network of that name, or ends. */
static bool net_leaves_ib(const struct rules_input *in)
{
	const char *net = nccl_value(in, "NCCL_NET");

	if (!net || !strcasecmp(net, "IB"))
		return true;
	return strcasecmp(net, "Socket") && nccl_has_net_plugin(in);
}

size_t nccl_ib_ports_fit(const struct rules_input *in, const struct nccl_ifspec *also)
{
	const char *off = nccl_value(in, "NCCL_IB_DISABLE"), *hca = nccl_value(in, "NCCL_IB_HCA");
	struct nccl_ifspec spec;
	size_t n = 0;
	int64_t v;

	if ((off && nccl_param_parse(off, &v) && v) || !in->rdma)
		return 0;
	nccl_ifspec_parse(hca ? hca : "", &spec);
	for (size_t d = 0; d < in->rdma->n; d++)
		for (size_t p = 0; p < in->rdma->v[d].ports.n; p++) {
			const struct rdma_port *port = &in->rdma->v[d].ports.v[p];
			const char *name = in->rdma->v[d].name;

			n += nccl_ib_port_counts(port) &&
			     nccl_ifspec_match_port(&spec, name, (int)port->number) &&
			     nccl_ifspec_match_port(also, name, (int)port->number);
		}
	return n && net_leaves_ib(in) && nccl_ib_can_open(in) ? n : 0;
}

size_t nccl_ib_ports_used(const struct rules_input *in)
{
	const struct nccl_ifspec any = {0};

	return nccl_ib_ports_fit(in, &any);
}

bool nccl_ib_carries_data(const struct rules_input *in) { return nccl_ib_ports_used(in) > 0; }

/* As NCCL prints it: a link-local address with the interface's name, recorded trees included. */
static const char *address(struct arena *a, const struct iface_addr *ia)
{
	struct addr_text t;
	char *s = arena_strdup(a, addr_print(&ia->addr, &t)), *zone = strchr(s, '%');

	if (!zone)
		return s;
	*zone = '\0';
	return arena_printf(a, "%s%%%s", s, ia->iface->name);
}

/* The address that peers are told, then every one that would carry data. */
static void judge_reach(const struct rules_input *in, const struct iface_addr *boot,
			const struct nccl_choice *data, struct prediction *p)
{
	struct arena *a = in->inv->a;
	const char *why = leads_nowhere(in->inv, boot->iface, &boot->addr);

	p->reachable = false;
	if (why) {
		p->unreachable_why = arena_printf(a, "%s (%s) %s", p->address, p->interface, why);
		return;
	}
	p->reachable = nccl_ib_carries_data(in);
	if (p->reachable)
		return;
	if (!data->n)
		p->unreachable_why = "no interface is left to carry data";
	p->reachable = data->n > 0;
	for (size_t i = 0; i < data->n; i++)
		predict_reach_also(in, p, i, data->v[i]->iface, &data->v[i]->addr);
}

static const char *why_data(const struct nccl_choice *c, const char *ifname, bool running)
{
	if (streq(c->rule, "NCCL_SOCKET_IFNAME"))
		return *ifname == '^' ? "first interface that NCCL_SOCKET_IFNAME does not exclude"
				      : "first interface that NCCL_SOCKET_IFNAME names";
	if (streq(c->rule, "automatic:ib"))
		return "nothing is set; a name that begins with \"ib\" beats every other";
	if (starts_with(c->rule, "automatic:not"))
		return running ? "nothing is set; lowest-numbered running interface that is not "
				 "docker, lo or virbr"
			       : "nothing is set; lowest-numbered interface that is not docker or "
				 "lo, running or not: NCCL looks at that since 2.28.3";
	return "nothing is set and nothing better is up; a last resort";
}

/* An IPv6 address that is still being tested for duplicates cannot be bound. */
static bool cannot_bind(const struct iface_addr *ia)
{
	return ia->addr.sa.sa_family == AF_INET6 && (ia->flags & IFA_F_TENTATIVE) &&
	       !(ia->flags & IFA_F_OPTIMISTIC);
}

static void predict_comm_id(const struct rules_input *in, const char *id,
			    const struct iface_addr *boot, const char *bad, bool inverted,
			    struct prediction *p)
{
	struct arena *a = in->inv->a;

	p->rule = "NCCL_COMM_ID";
	p->outcome = boot ? OUTCOME_OK : OUTCOME_FAILS;
	if (inverted && !bad)
		p->why = arena_printf(a,
				      "%s outside of the subnet of NCCL_COMM_ID=%s: NCCL 2.29 "
				      "compares subnets the wrong way round, 2.30.3 does not",
				      boot ? "first address" : "no address of this host is", id);
	else if (boot)
		p->why = arena_printf(a,
				      "first address in the subnet of NCCL_COMM_ID=%s; "
				      "NCCL_SOCKET_IFNAME is not asked",
				      id);
	else if (bad)
		p->why = arena_printf(a, "NCCL_COMM_ID=%s is refused: %s", id, bad);
	else
		p->why = arena_printf(a,
				      "no address of this host is in the subnet of "
				      "NCCL_COMM_ID=%s",
				      id);
}

static const char *why_none(struct arena *a, const char *ifname, int family, bool running)
{
	const char *kind = running ? "running " : "";

	if (ifname && strlen(ifname) > 1)
		return arena_printf(a, "no %sinterface with an address fits what is set", kind);
	if (!family)
		return arena_printf(a, "no %sinterface has an address", kind);
	return arena_printf(
		a, "no %sinterface has an IPv%d address, and NCCL_SOCKET_FAMILY asks for one", kind,
		family == AF_INET ? 4 : 6);
}

static void predict_list(struct arena *a, const struct nccl_choice *data, const char *ifname,
			 int family, unsigned version, struct prediction *p)
{
	bool running = version >= NCCL_VERSION_RUNNING;

	p->rule = data->rule;
	if (!data->n) {
		p->outcome = OUTCOME_NONE;
		p->why = why_none(a, ifname, family, running);
		return;
	}
	p->outcome = OUTCOME_OK;
	p->why = why_data(data, ifname, running);
	if (cannot_bind(data->v[0])) {
		p->outcome = OUTCOME_FAILS;
		p->why = "its IPv6 address is not usable yet (duplicate address detection)";
	}
}

static size_t ifname_overrun(const char *ifname, unsigned version)
{
	struct nccl_ifspec spec;

	nccl_ifspec_parse(ifname ? ifname : "", &spec);
	return nccl_ifspec_overrun(&spec, version);
}

/* What NCCL cannot hold: whatever it does then, it is no choice. */
static bool overruns(const struct rules_input *in, const char *id, const char *ifname,
		     struct prediction *p)
{
	const char *name = id ? "NCCL_COMM_ID" : "NCCL_SOCKET_IFNAME";
	size_t n = id ? nccl_comm_id_overrun(id, in->nccl_version)
		      : ifname_overrun(ifname, in->nccl_version);

	if (!n)
		return false;
	predict_fail(in, p, OUTCOME_FAILS, arena_printf(in->inv->a, "%s:overrun", name),
		     "a part of %zu characters in %s overruns NCCL's memory: it crashes, or goes "
		     "on with what is left",
		     n, name);
	return true;
}

static void predict(const struct rules_input *in, struct prediction *p)
{
	const char *ifname = nccl_value(in, "NCCL_SOCKET_IFNAME");
	const char *id = nccl_value(in, "NCCL_COMM_ID"), *bad = NULL;
	int family = nccl_family_parse(nccl_value(in, "NCCL_SOCKET_FAMILY"));
	unsigned version = nccl_version(in->nccl_version);
	const struct iface_addr *boot = NULL;
	struct arena *a = in->inv->a;
	struct nccl_choice data;
	bool inverted = false;
	union addr to;

	*p = (struct prediction){0};
	if (overruns(in, id, ifname, p))
		return;
	if (id && nccl_comm_id_resolve(id, in, &to, &bad) == 0)
		boot = nccl_same_subnet(in->inv, &to, version, &inverted);
	nccl_choose(in->inv, ifname, family, id && !bad ? &to : NULL, version, &data);
	for (size_t i = 0; i < data.n; i++) {
		*LIST_ADD(a, &p->interfaces) = data.v[i]->label;
		*LIST_ADD(a, &p->addresses) = address(a, data.v[i]);
	}
	if (id) {
		predict_comm_id(in, id, boot, bad, inverted, p);
	} else {
		predict_list(a, &data, ifname, family, version, p);
		boot = data.n ? data.v[0] : NULL;
	}
	if (boot) {
		p->interface = boot->label;
		p->address = address(a, boot);
	}
	if (p->outcome == OUTCOME_OK)
		judge_reach(in, boot, &data, p);
}

const struct rules rules_nccl = {
	.name = "nccl",
	.title = "NCCL",
	.predict = predict,
	.check = nccl_check,
	.suggest = nccl_suggest,
};
