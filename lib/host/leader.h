#ifndef LIB_HOST_LEADER_H
#define LIB_HOST_LEADER_H
/*
 * Which interface comes first, for a third of what reading all of them costs:
 * at a thousand interfaces the kernel's dump of its links is four fifths of the
 * work, and nearly all of them could not come first whatever it says.
 *
 * The inventory that leader_read() fills has the interfaces with an address or
 * a default route only: their names, flags, addresses and routes, and of most
 * no more. @ret is how rank_ifaces() orders them: the first, with its `why`, is
 * that of the whole inventory; of the others nothing is promised.
 *
 * How: addresses and default routes are read first. Of the interfaces that a
 * peer could use, those whose driver makes no NIC of them (veth, macvlan, tun
 * ...) are taken at their best: "open". All others are read in full. Then,
 * while an open one decides the first place, or is named in its `why`, it is
 * read, too. What decides is rank.c's to say.
 */
#include "lib/host/rank.h"

enum { LEADER_KNOWN, LEADER_WHOLE };

/*
 * LEADER_WHOLE: it cannot be told like this (nothing is usable, too many
 * contenders, an order or a name that is in doubt), and @inv is the whole
 * inventory. -1: it cannot be read, or dumps are recorded: inventory_read()
 * then, which knows the error.
 */
int leader_read(struct inventory *inv, struct netlink *nl, struct arena *a,
		candidate_list *ret) MUST_CHECK;

#endif
