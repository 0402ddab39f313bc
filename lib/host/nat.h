#ifndef LIB_HOST_NAT_H
#define LIB_HOST_NAT_H
/*
 * The network that VirtualBox ("NAT") and QEMU ("user") make for one virtual
 * machine alone: it leads out and never in, and each machine has the same
 * address in it. Known by all three of what they give by DHCP: 10.0.N.15/24,
 * the gateway 10.0.N.2, and N from 2 on, one for each card.
 */
#include "lib/host/inventory.h"

extern const char nat_words[]; /* what it is, behind "in" */
/* @i is in such a network; its other addresses, of IPv6, lead nowhere either. */
bool nat_is_own(const struct inventory *inv, const struct iface *i);

#endif
