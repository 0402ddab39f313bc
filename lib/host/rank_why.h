#ifndef LIB_HOST_RANK_WHY_H
#define LIB_HOST_RANK_WHY_H
/*
 * For rank.c alone: its order in words. Sentences are constants, or the arena's that they are
 * asked with; the scores are read and never written.
 */
#include "lib/host/rank.h"

/* RANK_KIND. The first: who asked for it. K_NAT and K_VRF: behind all that could lead to another
 * host as it is. */
enum kind_score {
	K_LINKLOCAL,
	K_NAT,
	K_VRF,
	K_REST,
	K_BRIDGE,
	K_VETH,
	K_MACVLAN,
	K_WIRELESS,
	K_WIRED
};

/* Its kind or its state, which make it none whatever its addresses are; NULL: neither does. */
const char *why_not_candidate(const struct iface *i);
/* Of one that is a candidate, and has no usable address of @family. */
const char *why_no_address(const struct inventory *inv, const struct iface *i, int family);
/*
 * What ranks behind a NIC is hardly ever chosen for its kind: where it alone has the default
 * route, that says more, and it can be said whatever the runner-up is.
 */
bool why_default_route(const candidate_list *all);
/* Fills `why` of those that are usable, once they are in order. */
void why_ranked(const struct inventory *inv, candidate_list *all);

#endif
