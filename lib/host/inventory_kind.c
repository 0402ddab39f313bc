#include "lib/host/inventory_read.h"

#include <net/if.h>
#include <net/if_arp.h>

/* IFLA_INFO_KIND, as the kernel's drivers register it. */
static const struct {
	const char *link_kind;
	enum iface_kind kind;
} kinds[] = {
	{"bond", IFACE_BOND},	       {"team", IFACE_BOND},	   {"vlan", IFACE_VLAN},
	{"ipoib", IFACE_IPOIB},	       {"macvlan", IFACE_MACVLAN}, {"macvtap", IFACE_MACVLAN},
	{"ipvlan", IFACE_MACVLAN},     {"ipvtap", IFACE_MACVLAN},  {"bridge", IFACE_BRIDGE},
	{"openvswitch", IFACE_BRIDGE}, {"veth", IFACE_VETH},	   {"netkit", IFACE_VETH},
	{"wireguard", IFACE_VPN},      {"tun", IFACE_VPN},	   {"ppp", IFACE_VPN},
	{"ovpn", IFACE_VPN},	       {"xfrm", IFACE_VPN},	   {"vti", IFACE_VPN},
	{"vti6", IFACE_VPN},	       {"vxlan", IFACE_TUNNEL},	   {"geneve", IFACE_TUNNEL},
	{"gre", IFACE_TUNNEL},	       {"gretap", IFACE_TUNNEL},   {"ip6gre", IFACE_TUNNEL},
	{"ip6gretap", IFACE_TUNNEL},   {"erspan", IFACE_TUNNEL},   {"ip6erspan", IFACE_TUNNEL},
	{"sit", IFACE_TUNNEL},	       {"ipip", IFACE_TUNNEL},	   {"ip6tnl", IFACE_TUNNEL},
	{"bareudp", IFACE_TUNNEL},     {"dummy", IFACE_DUMMY},	   {"ifb", IFACE_DUMMY},
	{"nlmon", IFACE_DUMMY},
};

static const char *const container_prefixes[] = {
	"docker",  "podman", "cni",	     "lxc",    "lxdbr",	   "incusbr",	   "virbr",
	"flannel", "cali",   "vxlan.calico", "cilium", "kube-",	   "nodelocaldns", "weave",
	"vethwe",  "antrea", "ovn-k8s",	     "crio",   "mpqemubr", "nerdctl",	   "cbr0",
};
/* VMware's and VirtualBox' host-only networks: an Ethernet of no bus and no driver kind. */
static const char *const hypervisor_prefixes[] = {"vmnet", "vboxnet"};
static const char *const vpn_prefixes[] = {"tailscale", "zt",  "wg", "utun",
					   "nordlynx",	"tun", "ppp"};

static bool has_prefix(const char *name, const char *const *prefixes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (*name == *prefixes[i] && starts_with(name, prefixes[i]))
			return true;
	}
	return false;
}

/* A network of `docker network create`: br- and the first 12 digits of its id. */
static bool is_docker_network(const char *name)
{
	return starts_with(name, "br-") && strlen(name) == 15 &&
	       strspn(name + 3, "0123456789abcdef") == 12;
}

static bool is_container_name(const char *name)
{
	return is_docker_network(name) ||
	       has_prefix(name, container_prefixes, ARRAY_LEN(container_prefixes));
}

static bool is_vpn_name(const char *name)
{
	return has_prefix(name, vpn_prefixes, ARRAY_LEN(vpn_prefixes));
}

static bool is_hypervisor_name(const char *name)
{
	return has_prefix(name, hypervisor_prefixes, ARRAY_LEN(hypervisor_prefixes));
}

bool iface_is_virtual_name(const char *name)
{
	return is_container_name(name) || is_vpn_name(name) || is_hypervisor_name(name);
}

static enum iface_kind kind_by_driver(const struct iface *i)
{
	for (size_t k = 0; i->link_kind && k < ARRAY_LEN(kinds); k++) {
		if (streq(i->link_kind, kinds[k].link_kind))
			return kinds[k].kind;
	}
	return IFACE_OTHER;
}

/* No driver kind: a device (PCI, virtio, netvsc, USB ...), or a kernel too old to say. */
static enum iface_kind kind_by_type(const struct iface *i)
{
	switch (i->type) {
	case ARPHRD_INFINIBAND:
		return IFACE_IPOIB;
	case ARPHRD_ETHER:
		return i->bus			     ? IFACE_PHYSICAL
		       : is_vpn_name(i->name)	     ? IFACE_VPN
		       : is_hypervisor_name(i->name) ? IFACE_CONTAINER
						     : IFACE_PHYSICAL;
	case ARPHRD_PPP:
	case ARPHRD_NONE:
		return IFACE_VPN;
	case ARPHRD_TUNNEL:
	case ARPHRD_TUNNEL6:
	case ARPHRD_SIT:
	case ARPHRD_IPGRE:
		return IFACE_TUNNEL;
	default:
		return IFACE_OTHER;
	}
}

enum iface_kind iface_kind_of(const struct iface *i)
{
	enum iface_kind kind;

	if (i->flags & IFF_LOOPBACK)
		return IFACE_LOOPBACK;
	if (!i->link_kind)
		return kind_by_type(i);
	kind = kind_by_driver(i);
	switch (kind) {
	case IFACE_BRIDGE:
	case IFACE_VETH:
	case IFACE_TUNNEL:
	case IFACE_DUMMY:
		return is_container_name(i->name) ? IFACE_CONTAINER : kind;
	case IFACE_OTHER:
		return i->type == ARPHRD_INFINIBAND ? IFACE_IPOIB : kind;
	default:
		return kind;
	}
}

const char *iface_kind_name(enum iface_kind k)
{
	static const char *const names[] = {
		[IFACE_PHYSICAL] = "physical",	 [IFACE_VF] = "virtual function",
		[IFACE_BOND] = "bond",		 [IFACE_VLAN] = "vlan",
		[IFACE_IPOIB] = "ipoib",	 [IFACE_MACVLAN] = "macvlan",
		[IFACE_BRIDGE] = "bridge",	 [IFACE_VETH] = "veth",
		[IFACE_CONTAINER] = "container", [IFACE_VPN] = "vpn",
		[IFACE_TUNNEL] = "tunnel",	 [IFACE_LOOPBACK] = "loopback",
		[IFACE_DUMMY] = "dummy",	 [IFACE_OTHER] = "other",
	};

	return names[k];
}
