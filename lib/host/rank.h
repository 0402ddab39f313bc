#ifndef LIB_HOST_RANK_H
#define LIB_HOST_RANK_H
/*
 * Which interface should carry training traffic, judged from this host alone:
 * a candidate needs an address a peer could reach and a live link; candidates
 * are ordered by kind, default route, speed, MTU, then kernel order.
 * Details (/sys) are read for the leading kinds only.
 */
#include "lib/host/inventory.h"

struct candidate {
	struct iface *iface;
	const struct iface_addr *addr; /* NULL when not usable */
	bool usable;
	const char *why;               /* why it is where it is, or why it is not usable */
	int score[5];                  /* compared in order, larger first; for tests and --verbose */
};
typedef LIST(struct candidate) candidate_list;

/* All interfaces, usable ones first, best first. @family 0, AF_INET or AF_INET6. */
void rank_ifaces(struct inventory *inv, int family, candidate_list *ret);

#endif
