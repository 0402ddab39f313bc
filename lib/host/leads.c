#include "lib/host/leads.h"

#include "lib/host/inventory_read.h"
#include "lib/host/nat.h"

#include <net/if.h>

static const struct iface *master_of(const struct inventory *inv, const struct iface *i)
{
	return i->master ? inventory_by_index(inv, i->master) : NULL;
}

bool leads_through_switch(const struct iface *i)
{
	return i->kind == IFACE_BRIDGE && i->link_kind && streq(i->link_kind, "openvswitch");
}

const struct iface *leads_vrf(const struct inventory *inv, const struct iface *i)
{
	const struct iface *m = master_of(inv, i);

	return m && m->link_kind && streq(m->link_kind, "vrf") ? m : NULL;
}

void leads_mark_uplinks(const struct inventory *inv, bool *over_nic)
{
	bool switched = false;

	for (size_t k = 0; k < inv->ifaces.n; k++) {
		const struct iface *i = &inv->ifaces.v[k], *m = master_of(inv, i);

		if (!m || m->kind != IFACE_BRIDGE || !iface_is_nic(i))
			continue;
		over_nic[m - inv->ifaces.v] = true;
		switched |= leads_through_switch(m);
	}
	for (size_t k = 0; switched && k < inv->ifaces.n; k++)
		over_nic[k] |= leads_through_switch(&inv->ifaces.v[k]);
}

bool leads_has_port(const struct inventory *inv, const struct iface *bridge)
{
	for (size_t k = 0; k < inv->ifaces.n; k++) {
		const struct iface *m = master_of(inv, &inv->ifaces.v[k]);

		if (m && (m == bridge || (leads_through_switch(m) && leads_through_switch(bridge))))
			return true;
	}
	return false;
}

static const char *by_class(const union addr *addr)
{
	switch (addr_class(addr)) {
	case ADDR_LOOPBACK:
		return "is loopback, which every host takes for itself";
	case ADDR_LINKLOCAL:
		return addr->sa.sa_family == AF_INET6
			       ? "is link-local: its scope number means another interface elsewhere"
			       : "is a link-local address that the host gave itself";
	default:
		return NULL;
	}
}

const char *leads_nowhere(const struct inventory *inv, const struct iface *i,
			  const union addr *addr)
{
	const char *why = by_class(addr);
	const struct iface *vrf;

	if (why || !i)
		return why;
	if (i->flags & IFF_LOOPBACK)
		return "is on the loopback interface";
	if (i->kind == IFACE_CONTAINER)
		return "belongs to containers or virtual machines on this host only";
	if (i->kind == IFACE_BRIDGE && !leads_has_port(inv, i))
		return "is on a bridge that leads to no other host";
	if (i->kind == IFACE_DUMMY)
		return "is on an interface without a wire";
	if (!iface_is_running(i))
		return "is on an interface that is down";
	vrf = leads_vrf(inv, i);
	if (vrf)
		return arena_printf(inv->a,
				    "is in the VRF %s, where only what was started in it (ip vrf "
				    "exec) is reached",
				    vrf->name);
	return nat_is_own(inv, i) ? "is in " NAT_WORDS : NULL;
}

/* A log tells no kinds, so a few more names stand for one; pod-id is AWS' on EKS. */
bool leads_nowhere_by_name(const char *name)
{
	static const char *const more[] = {"br-", "veth", "tail", "ip6tn", "pod-id"};

	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		if (starts_with(name, more[i]))
			return true;
	return iface_is_virtual_name(name);
}
