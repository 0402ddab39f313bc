#ifndef LIB_NET_OWN_ADDR_H
#define LIB_NET_OWN_ADDR_H
/*
 * Which addresses this host has, as its kernel says now. Where interfaces cannot be
 * listed (a sandbox without netlink), what a socket can be bound to tells.
 */
#include "lib/net/addr.h"

bool own_addr(const union addr *a);
/* The interface that has it. NULL: a loopback one, none, or they cannot be listed. */
const char *own_addr_interface(const union addr *a, struct arena *arena);

#endif
