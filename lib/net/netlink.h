#ifndef LIB_NET_NETLINK_H
#define LIB_NET_NETLINK_H
/*
 * rtnetlink over libnl's sockets, message by message: libnl's caches cost four
 * times the dump itself at a thousand links, and a third of what is left went
 * into its attribute parser.
 * Strict checking and "skip statistics" are asked of the kernel where it
 * knows them. A dump that changed under us is asked again, a few times.
 *
 * With a sysroot (see lib/host/sysroot.h) dumps come from recorded files, and
 * routes are looked up in them by longest prefix (no policy rules).
 */
#include "lib/core/err.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

struct nl_sock;
struct nlattr;

struct netlink {
	struct nl_sock *sock;
	const char *recorded; /* folder of recorded dumps, or NULL */
	char *buf;	      /* one receive buffer for the life of the socket */
	bool unsettled;	      /* every try of some dump was interrupted: it may miss something */
};

int netlink_open(struct netlink *nl, const char *recorded, struct err *e) MUST_CHECK;
void netlink_close(struct netlink *nl);

/* Who gets what the kernel answers, message by message. */
struct netlink_sink {
	int (*each)(const struct nlmsghdr *h, void *arg); /* -1: stop, which is no error */
	void (*restart)(void *arg); /* it begins again: forget what came; NULL: nothing to forget */
	void *arg;
};
/*
 * Dumps RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE (the main table) or RTM_GETRULE. Recorded `links`
 * and `addrs` must exist; a family of routes or rules that this machine does not have is empty.
 */
int netlink_dump(struct netlink *nl, int type, int family, const struct netlink_sink *to,
		 struct err *e) MUST_CHECK;

/* RTM_GETLINK of one interface, of the running kernel only. -1: it is gone, too. */
int netlink_link(struct netlink *nl, int index, const struct netlink_sink *to,
		 struct err *e) MUST_CHECK;
/* Those whose master is @master; where the kernel does not filter, all: look at IFLA_MASTER. */
int netlink_dump_ports(struct netlink *nl, int master, const struct netlink_sink *to,
		       struct err *e) MUST_CHECK;

/*
 * What an ioctl tells of an interface of the socket's own network namespace, for a tenth of
 * what a message costs. -1: it is gone, or this kernel does not answer; never with a recording.
 */
struct netdev {
	char name[16];
	unsigned flags; /* the lower 16: IFF_UP ... */
};
int netlink_device(struct netlink *nl, int index, struct netdev *ret) MUST_CHECK;
int netlink_device_mtu(struct netlink *nl, const char *name, unsigned *ret) MUST_CHECK;
/* As `ethtool -i` says it. */
int netlink_device_driver(struct netlink *nl, const char *name, char ret[32]) MUST_CHECK;

/*
 * The attributes behind a header of @hdr bytes by their types, tb[0..max], NULL
 * for those that are not there. -1: the message is shorter than its header.
 * Their lengths are for who reads them, as the next two do.
 */
int netlink_attrs(const struct nlmsghdr *h, size_t hdr, struct nlattr **tb, size_t max) MUST_CHECK;
/* What it holds; @otherwise when it is NULL or too short. */
uint32_t netlink_u32(const struct nlattr *a, uint32_t otherwise);
uint8_t netlink_u8(const struct nlattr *a, uint8_t otherwise);

/* What the kernel would do with a packet to @to (RTM_GETROUTE). */
union addr;
struct route {
	bool reachable;	 /* false: @why says unreachable, prohibited, blackhole or no route */
	const char *why; /* static text */
	int oif;
	bool has_source, has_gateway;
	uint8_t type; /* RTN_UNICAST, RTN_LOCAL ... */
	unsigned char source[16], gateway[16];
};
/* Somebody made it so that nothing goes there: no mere lack of a route. */
bool netlink_forbids(const struct route *r);
/* @oif 0 and @from NULL: as an ordinary connect would. */
int netlink_route(struct netlink *nl, const union addr *to, int oif, const union addr *from,
		  struct route *ret, struct err *e) MUST_CHECK;
/*
 * How to take away what decides of packets from @from to @to, for a shell; NULL: it is nothing
 * to take away, or this kernel does not tell (Linux 4.13), or it is a recording.
 * The first: an entry of a table, "ip route del 10.0.0.0/24 dev br0"; never a default route,
 * nor one of an interface that our own ssh comes through.
 * @from may be NULL.
 * The second: the one policy rule for these addresses, "ip rule del priority 100 to 10.0.0.2/32",
 * of which no other rule could be meant; of one that leads to a table, the route that forbids
 * there; @from: one that asks for it; NULL: one that decides before an address of our own is
 * chosen; @forbidden: they are not just without a route, so what it leads to may forbid them.
 */
struct arena;
const char *netlink_undo_route(struct netlink *nl, const union addr *from, const union addr *to,
			       struct arena *a);
const char *netlink_undo_rule(struct netlink *nl, const union addr *from, const union addr *to,
			      bool forbidden, struct arena *a);

/* The router that it leads to; NULL: none. */
const char *netlink_router(const struct route *r, int family, struct arena *a);

/*
 * The ways that the route to @to may take, where it has several (ECMP). Packets are dealt out by
 * their addresses, or by their ports, too: net.ipv4.fib_multipath_hash_policy.
 */
enum { NETLINK_HOPS = 16 };
struct hops {
	struct hop {
		int oif;
		unsigned char gateway[16];
		bool has_gateway;
	} v[NETLINK_HOPS];
	size_t n; /* 0 where it is but one */
	int family;
	const char *network; /* "10.9.0.0/16", or "default"; NULL: not of the main table */
};
void netlink_hops(struct netlink *nl, const union addr *to, struct arena *a, struct hops *ret);
/* Which of them TCP between these ports takes; SIZE_MAX: not known (Linux 4.19). */
size_t netlink_hop_of(struct netlink *nl, const union addr *from, const union addr *to,
		      const struct hops *hops);
/* "via 10.0.0.9 dev eth1", as `ip route` takes it. */
const char *netlink_hop_text(const struct hops *hops, size_t i, struct arena *a);

/* Takes away the route of @table that forbids @to: a blackhole, or one of its kin. */
const char *netlink_undo_forbidding(const union addr *to, uint32_t table, struct arena *a);
/* What lets packets to @to pass that some table forbids, or a rule: where it is the main table that
 * does, its route goes; else that one is asked first for the network of @to, or, where but its
 * default route leads there, for @to alone. */
const char *netlink_pass_forbidden(struct netlink *nl, const union addr *to, struct arena *a);
/*
 * Some other table decides of packets to @to before the main one, which would send them out of
 * @oif: the rule that has the main one asked first, "ip rule add to 10.0.0.0/24 lookup main
 * priority 99". NULL: none does, or there is no room before it. @from: NULL: before an address of
 * our own is chosen.
 */
const char *netlink_prefer_main(struct netlink *nl, int oif, const union addr *from,
				const union addr *to, struct arena *a);
/*
 * Policy rules by which packets with a mark are thrown away on their way to @to, and others are
 * not: how many, at most @max. @undo: the command that takes away the rule or, of the table that it
 * leads to, the route; or the one that lists the rules, where several are for that mark.
 */
struct marked_rule {
	uint32_t mark, mask;
	const char *undo;
};
size_t netlink_marked_rules(struct netlink *nl, const union addr *to, struct marked_rule *ret,
			    size_t max, struct arena *a);

/* What is known of the neighbour @of behind interface @oif (RTM_GETNEIGH). */
struct neighbour {
	bool known;	       /* there is an entry, and this kernel tells (Linux 5.0) */
	uint16_t state;	       /* NUD_REACHABLE ... */
	uint64_t confirmed_ns; /* so long ago it was last heard of; UINT64_MAX: not known */
	bool has_mac;
	unsigned char mac[6];
};
int netlink_neighbour(struct netlink *nl, const union addr *of, int oif, struct neighbour *ret,
		      struct err *e) MUST_CHECK;

/* --- between netlink*.c ------------ */
struct nl_msg;
void netlink_msg_freep(struct nl_msg **m);
/* How an answer ended. */
struct netlink_end {
	int status; /* the kernel's errno, 0 for none */
	bool again; /* what came is incomplete */
};
/* Sends @msg and hands over every message of its answer. */
int netlink_ask(struct netlink *nl, struct nl_msg *msg, const struct netlink_sink *to,
		struct netlink_end *ret, struct err *e) MUST_CHECK;
int netlink_recorded_dump(const char *dir, int type, int family, const struct netlink_sink *to,
			  struct err *e) MUST_CHECK;
int netlink_recorded_route(struct netlink *nl, const union addr *to, int oif,
			   const union addr *from, struct route *ret, struct err *e) MUST_CHECK;
/* Source, gateway, interface and type of one RTM_NEWROUTE; -1 when malformed. */
int netlink_route_fill(const struct nlmsghdr *h, struct route *ret) MUST_CHECK;
const void *netlink_addr_bytes(const union addr *a, size_t *ret_n);
/* Is the address in attribute @at (NULL: none), of @prefix bits, a network of @to? @ret: it. */
bool netlink_covers(const struct nlattr *at, unsigned prefix, const union addr *to,
		    union addr *ret);
/* RTM_GETROUTE: @oif 0, @from NULL, @mark 0: without. @flags: RTM_F_... NULL: no memory. */
struct nl_msg *netlink_route_request(const union addr *to, int oif, const union addr *from,
				     uint32_t mark, unsigned flags);
/* A policy rule for certain interfaces, users or services alone: it may say nothing of a packet. */
struct fib_rule_hdr;
bool netlink_rule_is_special(const struct fib_rule_hdr *r, struct nlattr **tb);
/* netlink_route() of a packet with that mark; 0: of one without. */
int netlink_route_marked(struct netlink *nl, const union addr *to, uint32_t mark, struct route *ret,
			 struct err *e) MUST_CHECK;

#endif
