/* NCCL_NET: the one network that NCCL may take, by its whole name. */
#include "probes/rules/nccl_lint.h"

#define ENDS "NCCL ends with \"invalid usage\""

static void sockets_alone(const struct lint *l, const struct setting *s)
{
	size_t ports = lint_active_ports(l->in);
	struct finding *f;

	if (!ports)
		return;
	f = lint_find(l, "lint.net.socket", s);
	finding_set(f, ST_WARN,
		    "is %s, so no RDMA is used although %zu port%s ACTIVE: data goes over TCP",
		    s->value, ports, ports == 1 ? " is" : "s are");
	finding_expect(f, "not set");
	lint_unset(f, s);
	report_add(l->r, f);
}

/* Why NCCL's own InfiniBand has no device here. */
static const char *why_no_ib(const struct rules_input *in)
{
	const char *off = nccl_value(in, "NCCL_IB_DISABLE");
	int64_t v;

	if (off && nccl_param_parse(off, &v) && v)
		return "NCCL_IB_DISABLE switches that off";
	if (!nccl_ib_can_open(in))
		return "no RDMA device can be opened here";
	return nccl_value(in, "NCCL_IB_HCA") ? "NCCL_IB_HCA leaves no ACTIVE port of it"
					     : "no RDMA port is ACTIVE here";
}

static void no_such_net(const struct lint *l, const struct setting *s, const char *why)
{
	struct finding *f = lint_find(l, "lint.net", s);

	finding_set(f, ST_FAIL, "is [%s], and %s: " ENDS, s->value, why);
	finding_expect(f, "not set, IB, Socket, or the name of a plug-in's network");
	lint_unset(f, s);
	report_add(l->r, f);
}

void lint_net(const struct lint *l, const struct setting *s)
{
	const struct setting *plugin = settings_nccl(l->in->settings, "NCCL_NET_PLUGIN");

	if (!strcasecmp(s->value, "Socket"))
		sockets_alone(l, s);
	else if (!strcasecmp(s->value, "IB") && !nccl_ib_carries_data(l->in))
		no_such_net(l, s, why_no_ib(l->in));
	else if (!strcasecmp(s->value, "IB") || nccl_has_net_plugin(l->in))
		return; /* what a plug-in calls its network, it alone knows */
	else if (!plugin || !*plugin->value || !strcasecmp(plugin->value, "none"))
		no_such_net(l, s,
			    "NCCL itself has IB and Socket alone, and no plug-in is found here");
	/* else that plug-in's own finding says so */
}
