#ifndef LIB_HOST_STRAIGHT_H
#define LIB_HOST_STRAIGHT_H
/*
 * A route to an address of our own network that leads to a router of it: what is sent there arrives
 * only where that router sends it back into the network it came from.
 */
#include "lib/host/inventory.h"
#include "lib/net/netlink.h"

/* Where the route @r of what @mine sends to @to leads to a router, and @to is in the network of
 * @mine: that router; NULL: it is not so. */
const char *straight_router(const struct route *r, const struct iface_addr *mine,
			    const union addr *to, struct arena *a);
/* The command that makes it go straight there. */
const char *straight_command(struct netlink *nl, const struct iface_addr *mine,
			     const union addr *to, struct arena *a);

#endif
