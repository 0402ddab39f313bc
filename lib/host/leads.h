#ifndef LIB_HOST_LEADS_H
#define LIB_HOST_LEADS_H
/*
 * Whether an interface leads to other hosts, as far as this one can tell: by its kind and name, by
 * what it is a part of, and by the address that a peer would be told.
 */
#include "lib/host/inventory.h"

/* Marks, by its place in inv->ifaces, each bridge that a NIC is a port of: virtual machine hosts
 * carry their own address on one. Of Open vSwitch all ports are marked, where a NIC is one: which
 * of its bridges that belongs to only the switch knows. */
void leads_mark_uplinks(const struct inventory *inv, bool *over_nic);
/* A bridge without a port leads nowhere, whatever it is called. */
bool leads_has_port(const struct inventory *inv, const struct iface *bridge);
/* @i is a bridge's own port in Open vSwitch, whose NICs are ports of another device. */
bool leads_through_switch(const struct iface *i);
/* The VRF that @i is in, a routing table for itself; NULL: none. */
const struct iface *leads_vrf(const struct inventory *inv, const struct iface *i);
/* Why no other host reaches @addr, which is one of @i's (NULL: of none here): "is loopback, ...",
 * to be said behind it; NULL: nothing is known against it. */
const char *leads_nowhere(const struct inventory *inv, const struct iface *i,
			  const union addr *addr);
/* For a name in another machine's log: only virtual interfaces have such ones. */
bool leads_nowhere_by_name(const char *name);

#endif
