#ifndef LIB_HOST_INVENTORY_H
#define LIB_HOST_INVENTORY_H
/*
 * What is true of this machine's network interfaces: read once, then only
 * looked at. The kernel's dump gives names, kinds, states and addresses for
 * the price of `ip`; what only /sys knows (driver, speed, NUMA node) is read
 * when inventory_detail() is called for an interface, because a thousand
 * interfaces would cost thousands of opens.
 * Everything lives in the caller's arena.
 *
 * Kinds come from what the driver says of itself, never from names alone, but
 * for container plumbing: a bridge, veth, tunnel or dummy with a name that
 * Docker, Podman, LXC, LXD, Incus, libvirt or a Kubernetes network plug-in
 * uses (docker0, br-<12 hex digits>, podman*, cni*, lxc*, lxdbr*, incusbr*,
 * virbr*, nerdctl*, cbr0, flannel*, cali*, cilium*, kube-*, nodelocaldns, weave ...) is
 * IFACE_CONTAINER, and so are VMware's vmnet* and VirtualBox' vboxnet*.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/net/addr.h"
#include "lib/net/netlink.h"

enum iface_kind {
	IFACE_PHYSICAL,
	IFACE_VF,   /* virtual function of an SR-IOV device */
	IFACE_BOND, /* bond and team */
	IFACE_VLAN,
	IFACE_IPOIB,
	IFACE_MACVLAN, /* macvlan, ipvlan: an address on a parent interface */
	IFACE_BRIDGE,
	IFACE_VETH,
	IFACE_CONTAINER, /* docker0, br-<id>, cni0, flannel, cali..., by kind and name; those of
			    virtual machines, too */
	IFACE_VPN,	 /* wireguard, tun, tailscale, zerotier, ppp */
	IFACE_TUNNEL,	 /* vxlan, gre, sit, ipip, geneve */
	IFACE_LOOPBACK,
	IFACE_DUMMY, /* dummy, ifb, nlmon */
	IFACE_OTHER,
};
const char *iface_kind_name(enum iface_kind k); /* "physical", "virtual function" ... */

struct iface {
	int index;
	const char *name;
	enum iface_kind kind;
	const char *link_kind;	 /* IFLA_INFO_KIND: "veth", "bridge"; NULL for a device */
	unsigned flags;		 /* IFF_UP, IFF_RUNNING, IFF_LOOPBACK ... */
	unsigned short type;	 /* ARPHRD_ETHER, ARPHRD_INFINIBAND ... */
	unsigned char operstate; /* IF_OPER_UP ... */
	int carrier;		 /* 1, 0, or -1 unknown */
	unsigned mtu;
	int master, link;    /* ifindex of bridge/bond above, of device below; 0 none */
	bool link_elsewhere; /* the other end is in another network namespace */
	bool open;	     /* by leader_read(): MTU and link_elsewhere are the best they can be */
	const char *mac;     /* "02:00:00:00:00:01" or NULL */
	const char *bus,
		*device; /* IFLA_PARENT_DEV_*: "pci", "0000:27:00.0"; NULL: none or not yet */
	str_list altnames;
	size_t naddrs;		  /* how many of inventory.addrs are mine */
	struct iface_addr *addrs; /* the first of them; the others by iface_addr.next */
	bool default_route4, default_route6;
	unsigned default_metric4, default_metric6; /* their lowest */

	/* after inventory_detail(): */
	bool detailed;
	int64_t speed_mbps; /* -1 unknown */
	const char *driver; /* NULL unknown */
	int numa;	    /* -1 unknown */
	bool is_vf;
	bool wireless;
};
bool iface_is_up(const struct iface *i);      /* IFF_UP */
bool iface_is_nic(const struct iface *i);     /* by its kind: a card, or what is made of cards */
bool iface_is_running(const struct iface *i); /* IFF_RUNNING, what NCCL tests */
const char *iface_state_name(const struct iface *i); /* "up", "down", "no carrier", "dormant" */

struct iface_addr {
	struct iface *iface;
	int index;	   /* of its interface */
	const char *label; /* getifaddrs' name for it: "eth0", "eth0:1" */
	union addr addr;   /* the local address; fe80 with its scope */
	unsigned prefix;
	unsigned char scope;	 /* RT_SCOPE_UNIVERSE ... */
	unsigned flags;		 /* IFA_F_TENTATIVE, IFA_F_DADFAILED, IFA_F_TEMPORARY ... */
	struct iface_addr *next; /* of the same interface, in kernel order */
};
/* A peer could use it: global scope, neither loopback nor link-local, not a
 * duplicate and not still being checked for one. */
bool iface_addr_is_usable(const struct iface_addr *x);
/* The first of @i's that a peer could use, but for duplicate address detection: @flag is
 * IFA_F_DADFAILED, or IFA_F_TENTATIVE while that lasts. NULL: none. */
const struct iface_addr *iface_addr_in_doubt(const struct iface *i, unsigned flag);

struct default_route {
	int family;
	struct iface *iface;
	int index; /* of its interface */
	union addr gateway;
	bool has_gateway;
	unsigned metric;
};

struct inventory {
	struct arena *a;
	LIST(struct iface) ifaces;     /* kernel order (ifindex order of the dump) */
	LIST(struct iface_addr) addrs; /* kernel order = getifaddrs order */
	LIST(struct default_route) defaults;
	const char *hostname;

	/* private: how interfaces are found (NULL in an inventory filled by hand) */
	struct inventory_index *index;
};

enum inventory_parts { INV_LINKS = 1, INV_ADDRS = 2, INV_ROUTES = 4, INV_ALL = 7 };

/*
 * An address of an interface that appeared meanwhile makes it read again, a few
 * times. IPv6 default routes are looked for where an interface has an IPv6
 * address that a peer could use.
 */
int inventory_read(struct inventory *inv, struct netlink *nl, unsigned parts, struct arena *a,
		   struct err *e) MUST_CHECK;
/* Reads /sys for one interface; never fails, what cannot be read stays unknown. Its kind changes
 * where it is a VF, or has no device. */
void inventory_detail(struct inventory *inv, struct iface *i);
struct iface *inventory_by_name(const struct inventory *inv, const char *name); /* altnames too */
struct iface *inventory_by_index(const struct inventory *inv, int index);
const struct iface_addr *inventory_by_addr(const struct inventory *inv, const union addr *a);
/* The first address of @i that a peer could use (global scope, family 0: any), or NULL. */
const struct iface_addr *iface_best_addr(const struct inventory *inv, const struct iface *i,
					 int family);

#endif
