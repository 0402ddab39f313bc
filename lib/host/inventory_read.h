#ifndef LIB_HOST_INVENTORY_READ_H
#define LIB_HOST_INVENTORY_READ_H
/*
 * Between inventory*.c and leader.c: the steps of a reading. Addresses and
 * default routes name their interface by its index until all are joined, so
 * they can be read first.
 */
#include "lib/host/inventory.h"

struct reading {
	struct inventory *inv;
	struct netlink *nl;
	size_t defaults_before;
	bool malformed;
};

/* Each adds to the inventory, which has to be without what it adds. */
int reading_links(struct reading *r, struct err *e) MUST_CHECK;
int reading_addrs(struct reading *r, struct err *e) MUST_CHECK;
/* @always: IPv6 too, whether or not there is an address for it. */
int reading_routes(struct reading *r, bool always, struct err *e) MUST_CHECK;
/*
 * Addresses and default routes find their interfaces, and interfaces theirs;
 * again after interfaces were added. Those of unknown interfaces are dropped:
 * their number.
 */
size_t reading_join(struct reading *r);

/* One RTM_NEWLINK; @ret's addresses and default routes stay. -1: it makes no sense. */
int iface_fill(struct iface *ret, const struct nlmsghdr *h, struct arena *a) MUST_CHECK;
enum iface_kind iface_kind_of(const struct iface *i);
/* One of containers, virtual machines or VPNs, whose device would be virtual. */
bool iface_is_virtual_name(const char *name);

/* Makes lookups by index fast: for the interfaces that are there, or ... */
void inventory_index_links(struct inventory *inv);
/* ... for up to @most, each added when it has become the last. */
void inventory_index_begin(struct inventory *inv, size_t most);
void inventory_index_add(struct inventory *inv);

#endif
