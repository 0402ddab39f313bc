/* NCCL_OOB_NET_IFNAME: the device for the bootstrap, among those that carry the data. */
#include "probes/rules/nccl_lint.h"

enum { VERSION_STRICT = 22403 }; /* ends where none fits; goes on with the first before */

static bool is_on(const char *value)
{
	int64_t v;

	return value && nccl_param_parse(value, &v) && v;
}

/* Whether one of the interfaces that carry data fits. */
static bool fits_socket(const struct rules_input *in, const struct nccl_ifspec *spec)
{
	int family = nccl_family_parse(nccl_value(in, "NCCL_SOCKET_FAMILY"));
	struct nccl_choice c;

	nccl_choose(in->inv, nccl_value(in, "NCCL_SOCKET_IFNAME"), family, NULL, in->nccl_version,
		    &c);
	for (size_t i = 0; i < c.n; i++)
		if (nccl_ifspec_match(spec, c.v[i]->label))
			return true;
	return !c.n; /* which is another finding */
}

static void say(const struct lint *l, const struct setting *s, bool rdma)
{
	bool ends = nccl_version(l->in->nccl_version) >= VERSION_STRICT;
	struct finding *f = lint_find(l, "lint.oob", s);

	finding_set(f, ends ? ST_FAIL : ST_WARN, "is %s, which fits no %s: NCCL %s", s->value,
		    rdma ? "RDMA device, and those carry the data here"
			 : "interface that carries the data here",
		    ends ? "ends with \"no device found matching\"" : "takes the first one");
	finding_expect(f, "%s, or not set", rdma ? lint_device_names(l) : "one of those");
	lint_unset(f, s);
	report_add(l->r, f);
}

void lint_oob_ifname(const struct lint *l, const struct setting *s)
{
	bool rdma = nccl_ib_carries_data(l->in);
	struct nccl_ifspec spec;
	struct finding *f;

	if (!*s->value)
		return;
	if (!is_on(nccl_value(l->in, "NCCL_OOB_NET_ENABLE"))) {
		f = lint_find(l, "lint.oob", s);
		finding_set(f, ST_INFO, "is %s: without NCCL_OOB_NET_ENABLE=1 nothing looks at it",
			    s->value);
		report_add(l->r, f);
		return;
	}
	if (nccl_has_net_plugin(l->in)) /* what its devices are called, it alone knows */
		return;
	nccl_ifspec_parse(s->value, &spec);
	if (rdma ? !nccl_ib_ports_fit(l->in, &spec) : !fits_socket(l->in, &spec))
		say(l, s, rdma);
}
