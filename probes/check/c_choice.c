/* choice: is what NCCL would take by itself what it should take? */
#include "lib/host/nat.h"
#include "probes/check/check.h"

static bool only_ours(const struct prediction *p, const char *name)
{
	for (size_t i = 0; i < p->interfaces.n; i++)
		if (!streq(p->interfaces.v[i], name))
			return false;
	return p->interfaces.n > 0;
}

static bool is_harmless(const struct facts *f, const char *label, const char *addr)
{
	const struct iface *i = inventory_by_name(&f->inv, label);

	return i && iface_is_nic(i) && !nat_is_own(&f->inv, i) && !starts_with(addr, "fe80:") &&
	       !starts_with(addr, "169.254.");
}

static void extra_interfaces(const struct check_input *in, struct finding *f)
{
	const char *mine = in->s->iface->name, *odd = NULL;

	for (size_t i = 0; i < in->nccl->interfaces.n; i++)
		if (!streq(in->nccl->interfaces.v[i], mine) &&
		    !is_harmless(in->f, in->nccl->interfaces.v[i], in->nccl->addresses.v[i]))
			odd = in->nccl->interfaces.v[i];
	if (odd)
		finding_set(
			f, ST_WARN,
			"NCCL would start on %s but also send data over %s, which other hosts may "
			"not reach: one bad member breaks the job",
			mine, odd);
	else
		finding_set(f, ST_INFO,
			    "NCCL would start on %s and spread data over %zu interfaces", mine,
			    in->nccl->interfaces.n);
}

static void run(const struct check_input *in, struct report *r)
{
	const struct prediction *p = in->nccl;
	struct finding *f;

	if (!in->s->iface)
		return;
	f = report_find(r, "nccl.choice", p->interface ? p->interface : "nothing");
	if (p->outcome != OUTCOME_OK)
		finding_set(f, ST_WARN, "NCCL would fail: %s", p->why);
	else if (!streq(p->interface, in->s->iface->name))
		finding_set(f, ST_WARN, "NCCL would use %s (%s), not %s: %s", p->interface,
			    p->address, in->s->iface->name, p->why);
	else if (!only_ours(p, in->s->iface->name))
		extra_interfaces(in, f);
	else
		finding_set(f, ST_PASS, "NCCL uses %s: %s", p->interface, p->why);
	if (f->status == ST_WARN)
		finding_fix(f, "eval \"$(ifprobe --suggest)\"");
	report_add(r, f);
}

const struct check check_choice = {"NCCL's own choice against the right one", run};
