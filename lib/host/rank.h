#ifndef LIB_HOST_RANK_H
#define LIB_HOST_RANK_H
/*
 * Which interface should carry training traffic, judged from this host alone.
 * A candidate needs a running link, as a bridge a port, and an address that a peer could reach.
 * Candidates are ordered by enum rank_score: the kind first; then a NIC at
 * least four times slower than the fastest of its kind goes back (a management
 * port beside the data network, even where the default route is its), but for
 * one of more than 1 Gb/s with the default route where the faster ones are rails: several, each
 * with an active RDMA port of its own. Data goes by RDMA then, and what connects
 * without it need not get from one host's rail to another's. Then the default route, a private
 * before a public address, speed, MTU, kernel order. Last of all come what is in a VRF, which a job
 * has to be started in, and the network that a virtual machine has for itself (nat.h). /sys is read
 * for the leading kind only, and only when it can decide.
 */
#include "lib/host/inventory.h"

enum { RANK_SLOWER = 4 }; /* a NIC so many times slower than another is of another network */

enum rank_score {
	RANK_KIND,    /* physical, VF, bond, vlan, IPoIB and bridges over one of these; then
			 wireless; macvlan; veth from elsewhere; bridge; VPN and the rest;
			 what is in a VRF; a virtual machine's own NAT */
	RANK_FRONT,   /* 1: has the default route, and the faster NICs are rails */
	RANK_FAST,    /* 1: speed unknown, or within a factor 4 of the fastest */
	RANK_DEFAULT, /* 2: the default route that is used; 1: another one */
	RANK_PRIVATE, /* 1: its address is private */
	RANK_SPEED,   /* Mb/s, 0 unknown */
	RANK_MTU,
	RANK_SCORES
};

struct candidate {
	struct iface *iface;
	const struct iface_addr *addr;	/* NULL when not usable */
	const struct iface_addr *other; /* one of the other family, or NULL */
	bool usable;
	const char *why;	/* why it is where it is, or why it is not usable */
	int score[RANK_SCORES]; /* compared in order, larger first; for tests and --verbose */
};
typedef LIST(struct candidate) candidate_list;

/* All interfaces, usable ones first, best first. @family 0, AF_INET or AF_INET6. */
void rank_ifaces(struct inventory *inv, int family, candidate_list *ret);

/* Those with an IPv4 link-local address alone become usable, too, behind all others: for who was
 * told such an address of a peer's. */
void rank_add_linklocal(candidate_list *all);
/* AF_INET or AF_INET6, as NCCL_SOCKET_FAMILY has it; 0: neither, nothing is asked for. */
int rank_family(const char *word);

/* --- for leader.c ----------------------------------------------------------- */
/* Whether @i is a candidate at all, as far as its kind, state and addresses are known. */
bool rank_is_usable(const struct inventory *inv, const struct iface *i);
/* How many of the first the first place and its `why` rest on: 2 where that names the second. */
size_t rank_decisive(const candidate_list *all);

#endif
