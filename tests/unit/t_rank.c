/* Which interface comes first, and what is said of every other one. */
#include "lib/host/rank.h"
#include "tests/unit/composed.h"

#define LO "link 1 lo type=loopback\naddr lo 127.0.0.1/8\n"

#define NAT_A "link 2 a pci=0000:01:00.0 speed=10000\naddr a 10.0.2.15/24\n"
#define NAT_WAY "route default via=10.0.2.2 dev=a\n"

/* Windows is the gateway of WSL2's /20, as AWS's router is that of a default subnet. */
#define WINDOWS_NET                                                                                \
	"link 2 eth0\naddr eth0 172.31.16.42/20\nlink 3 eth2\naddr eth2 10.9.0.2/24\n"             \
	"route default via=172.31.16.1 dev=eth0\n"
#define WSL1 "file /proc/sys/kernel/osrelease 4.4.0-19041-Microsoft\n"
#define WSL2 "file /proc/sys/kernel/osrelease 5.15.167.4-microsoft-standard-WSL2\n"

/* A front NIC, and one of several that are faster. */
#define RAIL(name, slot, number)                                                                   \
	"link " slot " " name " pci=0000:0" slot ":00.0 speed=400000\naddr " name " 10.8." number  \
	".2/24\nrdma mlx5_" number " pci=0000:0" slot ":00.0\nport mlx5_" number                   \
	" 1 state=\"4: ACTIVE\" layer=Ethernet\n"
#define FRONT                                                                                      \
	"link 9 a pci=0000:09:00.0 speed=100000\naddr a 10.0.0.2/24\n"                             \
	"route default via=10.0.0.1 dev=a\n"
#define WIFI                                                                                       \
	"link 2 w pci=0000:01:00.0 wireless\naddr w 192.168.1.42/24\n"                             \
	"route default via=192.168.1.1 dev=w\n"
#define OVS                                                                                        \
	"link 3 ovs-system kind=openvswitch state=down\n"                                          \
	"link 2 ens3 pci=0000:00:03.0 speed=100000 master=ovs-system\n"                            \
	"link 7 spare pci=0000:00:04.0 speed=100000\naddr spare 192.168.9.9/24\n"
#define VRF                                                                                        \
	"link 5 mgmt kind=vrf mtu=65536\nlink 2 m pci=0000:01:00.0 speed=25000 master=mgmt\n"      \
	"addr m 10.1.0.5/24\n"

static const struct row {
	const char *machine; /* a name or a description */
	int family;
	const char *order;	   /* usable ones, best first */
	const char *subject, *why; /* why holds this text */
} rows[] = {
	{"aws-p4d", 0, "ens32 ens65 ens130 ens163", "ens32", "has the default route"},
	{"aws-p4d", 0, "ens32 ens65 ens130 ens163", "docker0", "network of containers"},
	{"hgx-h100", 0, "ibp25s0 ibp43s0 ibp59s0 ibp94s0 ibp155s0 ibp220s0 eno1", "eno1",
	 "much slower than ibp25s0"},
	{"hgx-h100", 0, "ibp25s0 ibp43s0 ibp59s0 ibp94s0 ibp155s0 ibp220s0 eno1", "ibp172s0",
	 "link-local address only"},
	{"hgx-h100", AF_INET6, "", "eno1", "no IPv6 address a peer could use"},
	{"dgx-roce", 0, "enp17s0np0 enp225s0f0np0", "enp17s0np0",
	 "faster than enp225s0f0np0: 200 Gb/s"},
	{"dgx-roce", 0, "enp17s0np0 enp225s0f0np0", "enp76s0np0", "no address"},
	{"bond-vlan", 0, "br0 bond0.100", "bond0.100", "the default route goes through br0"},
	{"bond-vlan", 0, "br0 bond0.100", "enp65s0f0", "member of a bond"},
	{"bond-vlan", 0, "br0 bond0.100", "bond0.200", "port of a bridge"},
	{"bond-vlan", 0, "br0 bond0.100", "enp3s0", "no carrier: is the cable in?"},
	{"laptop", 0, "wlp0s20f3 tailscale0", "wlp0s20f3", "physical; tailscale0 is vpn"},
	{"laptop", 0, "wlp0s20f3 tailscale0", "br-0a1b2c3d4e5f", "network of containers"},
	{"azure", 0, "eth0", "enP9001s1", "fast path of another interface"},
	{"azure", 0, "eth0", "eth1", "link-local address only"},
	{"container", 0, "eth0", "eth0", "the only usable interface"},
	{"container", 0, "eth0", "lo", "loopback"},
	{"digits", 0, "ens3", "ens3", "the only usable interface"},
	/* wired before wireless, whatever the default route */
	{LO "link 2 wlan0 pci=0000:01:00.0 wireless\nlink 3 eth0 pci=0000:02:00.0 speed=1000\n"
	    "addr wlan0 192.168.1.2/24\naddr eth0 192.168.1.3/24\n"
	    "route default via=192.168.1.1 dev=wlan0\n",
	 0, "eth0 wlan0", "eth0", "wired; wlan0 is wireless"},
	/* a bridge with nothing at it leads no farther than a dummy does */
	{"link 2 br0 kind=bridge\naddr br0 10.6.0.1/24\n"
	 "link 3 t type=none kind=wireguard\naddr t 10.9.0.2/24\n",
	 0, "t", "br0", "bridge without a port"},
	{"link 2 br0 kind=bridge\naddr br0 10.6.0.1/24\nlink 4 p kind=veth master=br0\n"
	 "link 3 t type=none kind=wireguard\naddr t 10.9.0.2/24\n",
	 0, "br0 t", "br0", "bridge; t is vpn"},
	/* a factor below four does not beat the default route; four does */
	{"link 2 a pci=0000:01:00.0 speed=10000\nlink 3 b pci=0000:02:00.0 speed=25000\n"
	 "addr a 10.0.0.2/24\naddr b 10.0.1.2/24\nroute default via=10.0.0.1 dev=a\n",
	 0, "a b", "b", "the default route goes through a"},
	{"link 2 a pci=0000:01:00.0 speed=10000\nlink 3 b pci=0000:02:00.0 speed=40000\n"
	 "addr a 10.0.0.2/24\naddr b 10.0.1.2/24\nroute default via=10.0.0.1 dev=a\n",
	 0, "b a", "b", "faster than a: 40 Gb/s"},
	/* but for rails, which carry their data by RDMA */
	{FRONT RAIL("b", "2", "0") RAIL("c", "3", "1"), 0, "a b c", "b",
	 "default route goes through a"},
	{FRONT RAIL("b", "2", "0") RAIL("c", "3", "1"), 0, "a b c", "a", "has the default route"},
	{FRONT RAIL("b", "2", "0"), 0, "b a", "b", "faster than a"},
	{FRONT RAIL("b", "2", "0") "link 3 c pci=0000:03:00.0 speed=400000\naddr c 10.8.3.2/24\n",
	 0, "b c a", "a", "much slower than b"},
	/* unknown is not slow */
	{"link 2 a pci=0000:01:00.0\nlink 3 b pci=0000:02:00.0 speed=100000\n"
	 "addr a 10.0.0.2/24\naddr b 10.0.1.2/24\nroute default via=10.0.0.1 dev=a\n",
	 0, "a b", "a", "has the default route"},
	{"link 2 a\nlink 3 b\naddr a 8.8.4.2/24\naddr b 10.0.1.2/24\n", 0, "b a", "b",
	 "its address is private, that of a is not"},
	{"link 2 a\nlink 3 b mtu=9001\naddr a 10.0.0.2/24\naddr b 10.0.1.2/24\n", 0, "b a", "b",
	 "larger MTU than a: 9001"},
	{"link 2 a\nlink 3 b\naddr a 10.0.0.2/24\naddr b 10.0.1.2/24\n", 0, "a b", "b",
	 "as good as a, which the kernel lists first"},
	/* the lower metric's default route */
	{"link 2 a\nlink 3 b\naddr a 10.0.0.2/24\naddr b 10.0.1.2/24\n"
	 "route default via=10.0.0.1 dev=a metric=200\nroute default via=10.0.1.1 dev=b "
	 "metric=100\n",
	 0, "b a", "b", "has the default route"},
	/* of its own family: IPv6's lower metric makes no IPv4 route the one that is used */
	{"link 2 a\nlink 3 b mtu=9000\naddr a 10.0.0.2/24\naddr b 10.0.1.2/24\n"
	 "addr a fd00::2/64\naddr b fd01::2/64\n"
	 "route default via=10.0.0.1 dev=a metric=100\nroute default via=10.0.1.1 dev=b "
	 "metric=200\nroute default dev=a ipv6 metric=1024\nroute default dev=b ipv6 metric=50\n",
	 0, "a b", "a", "has the default route"},
	{"link 2 a\nlink 3 b mtu=9000\naddr a 10.0.0.2/24\naddr b 10.0.1.2/24\n"
	 "addr a fd00::2/64\naddr b fd01::2/64\n"
	 "route default via=10.0.0.1 dev=a metric=100\nroute default via=10.0.1.1 dev=b "
	 "metric=0\nroute default dev=a ipv6 metric=1024\nroute default dev=b ipv6 metric=2048\n",
	 AF_INET6, "a b", "a", "has the default route"},
	/* a virtual machine's own NAT comes after all that could lead to another one */
	{NAT_A "link 3 b pci=0000:02:00.0 speed=1000\naddr b 192.168.56.3/24\n" NAT_WAY, 0, "b a",
	 "a", "usable, but in the translated network (NAT) that a virtual machine has for itself"},
	{NAT_A "link 3 b pci=0000:02:00.0 speed=1000\naddr b 192.168.56.3/24\n" NAT_WAY, 0, "b a",
	 "b", "a is in the translated network (NAT)"},
	{NAT_A "link 3 t type=none kind=wireguard\naddr t 10.9.0.2/24\n" NAT_WAY, 0, "t a", "t",
	 "a is in the translated network"},
	{NAT_A "link 3 v kind=veth elsewhere link=9\naddr v 10.0.3.15/24\n"
	       "link 4 w kind=veth elsewhere link=8\naddr w 10.7.0.2/24\n" NAT_WAY
	       "route default via=10.0.3.2 dev=v metric=7\n",
	 0, "w a v", "v", "where no other host reaches it: w comes first"},
	{NAT_A NAT_WAY, 0, "a", "a", "the only usable interface, in the translated network (NAT)"},
	{"link 2 v kind=veth elsewhere link=9\naddr v 10.0.2.15/24\n"
	 "link 3 w kind=veth elsewhere link=8\naddr w 10.0.3.15/24\nroute default via=10.0.2.2 "
	 "dev=v\n"
	 "route default via=10.0.3.2 dev=w metric=7\n",
	 0, "v w", "v", "has the default route, in the translated network (NAT)"},
	{"wsl2", 0, "eth0", "eth0", "the only usable interface, in the translated network (NAT)"},
	{"link 2 eth0 mac=00155d0177fa\naddr eth0 172.23.240.213/20\n"
	 "link 3 tailscale0 type=none kind=tun\naddr tailscale0 100.101.1.3/32\n"
	 "route default via=172.23.240.1 dev=eth0\n" WSL2,
	 0, "tailscale0 eth0", "tailscale0", "eth0 is in the translated network (NAT)"},
	/* and these are networks like others */
	{"wsl2-mirrored", 0, "eth0 eth2", "eth2", "the default route goes through eth0"},
	{WINDOWS_NET WSL1, 0, "eth0 eth2", "eth2", "the default route goes through eth0"},
	{WINDOWS_NET, 0, "eth0 eth2", "eth2", "the default route goes through eth0"}, /* AWS's */
	{"link 2 eth0\naddr eth0 192.168.1.42/24\nlink 3 eth2\naddr eth2 10.9.0.2/24\n"
	 "route default via=192.168.1.1 dev=eth0\n" WSL2, /* bridged */
	 0, "eth0 eth2", "eth2", "the default route goes through eth0"},
	{NAT_A "link 3 b pci=0000:02:00.0 speed=1000\naddr b 192.168.56.3/24\n"
	       "route default via=10.0.2.1 dev=a\n",
	 0, "a b", "a", "faster than b"},
	{NAT_A "link 3 b pci=0000:02:00.0 speed=1000\naddr b 192.168.56.3/24\n", 0, "a b", "b",
	 "slower than a"},
	{"link 2 a\nlink 3 b\naddr a 10.0.2.15/16\naddr b 10.9.0.2/24\n" NAT_WAY, 0, "a b", "a",
	 "has the default route"},
	{"link 2 a\nlink 3 b\naddr a 10.0.2.16/24\naddr b 10.9.0.2/24\n" NAT_WAY, 0, "a b", "a",
	 "has the default route"},
	/* a hypervisor's own: by its name, or since there is no device below it */
	{WIFI "link 3 vmnet8\naddr vmnet8 172.16.23.1/24\n", 0, "w", "vmnet8", "virtual machines"},
	{WIFI "link 3 vboxnet0\naddr vboxnet0 192.168.56.1/24\n", 0, "w", "w", "the only usable"},
	{WIFI "link 3 odd0\naddr odd0 192.168.56.1/24\n", 0, "w odd0", "w", "has the default"},
	{WIFI "link 3 vmnet8 pci=0000:02:00.0\naddr vmnet8 172.16.23.1/24\n", 0, "vmnet8 w", "w",
	 "wireless"},
	/* a NIC below Open vSwitch, and the port of it that has the host's address */
	{OVS "link 4 br-ex kind=openvswitch state=unknown\naddr br-ex 10.0.0.5/24\n"
	     "route default via=10.0.0.1 dev=br-ex\n",
	 0, "br-ex spare", "spare", "the default route goes through br-ex"},
	{"link 2 spare pci=0000:00:03.0\naddr spare 10.9.0.5/24\n"
	 "link 4 br-int kind=openvswitch state=unknown\naddr br-int 10.0.0.5/24\n"
	 "route default via=10.0.0.1 dev=br-int\n",
	 0, "spare br-int", "br-int", "usable, but bridge"},
	/* what is in a VRF is out of the way of those who did not ask for it */
	{VRF "link 4 e pci=0000:02:00.0 speed=1000\naddr e 198.51.100.7/24\n"
	     "link 6 wg0 type=none kind=wireguard\naddr wg0 10.9.0.2/24\n",
	 0, "e wg0 m", "m", "usable, but in the VRF mgmt: e comes first"},
	{VRF "link 4 e pci=0000:02:00.0\naddr e 198.51.100.7/24\n", 0, "e m", "e",
	 "m is in the VRF mgmt"},
	{VRF, 0, "m", "m", "the only usable interface, in the VRF mgmt"},
	/* kinds among each other */
	{"link 2 br0 kind=bridge\nlink 3 v0 kind=veth elsewhere link=9\nlink 4 mv0 kind=macvlan\n"
	 "link 5 wg0 type=none kind=wireguard\nlink 6 eth0\nlink 7 v1 kind=veth link=v0\n"
	 "link 8 p kind=veth master=br0\naddr br0 10.0.2.2/24\naddr v0 10.0.3.2/24\naddr mv0 "
	 "10.0.4.2/24\naddr wg0 10.0.5.2/24\n"
	 "addr eth0 8.8.4.2/24\naddr v1 10.0.7.2/24\n",
	 0, "eth0 mv0 v0 br0 wg0 v1", "br0", "usable, but bridge: eth0 comes first"},
	/* states and addresses that rule out */
	{"link 2 a state=down\naddr a 10.0.0.2/24\n", 0, "", "a", "down"},
	{"link 2 a state=dormant\naddr a 10.0.0.2/24\n", 0, "", "a", "dormant"},
	{"link 2 br0 kind=bridge state=nocarrier\n", 0, "", "br0", "nothing is connected"},
	{"link 2 a\n", 0, "", "a", "no address"},
	{"link 2 a\naddr a fd00::2/64 flags=dadfailed,permanent\n", 0, "", "a", "duplicate"},
	{"link 2 a\naddr a fd00::2/64 flags=tentative\n", 0, "", "a", "still being checked"},
	{"link 2 a\naddr a 10.0.0.2/24\n", AF_INET6, "", "a", "no IPv6 address a peer"},
	{"link 2 a\naddr a fd00::2/64\naddr a 10.0.0.2/24\n", AF_INET6, "a", "a", "only usable"},
	{"link 2 d0 kind=dummy\naddr d0 10.0.0.2/24\n", 0, "", "d0", "dummy"},
	{LO "addr lo 10.255.0.1/32\n", 0, "", "lo", "if your routers announce its address"},
	{"host nothing\n", 0, "", NULL, NULL},
};

static void check(struct composed *c, const struct row *r)
{
	candidate_list all;
	char order[256] = "";
	const char *why = NULL;

	rank_ifaces(&c->inv, r->family, &all);
	assert_int_equal(all.n, c->inv.ifaces.n);
	for (size_t k = 0; k < all.n; k++) {
		const struct candidate *x = &all.v[k];
		size_t n = strlen(order);

		assert_non_null(x->why);
		assert_int_equal(x->usable, x->addr != NULL);
		assert_true(k == 0 || all.v[k - 1].usable || !x->usable);
		if (x->usable)
			snprintf(order + n, sizeof(order) - n, "%s%s", n ? " " : "",
				 x->iface->name);
		if (r->subject && streq(x->iface->name, r->subject))
			why = x->why;
	}
	if (!streq(order, r->order))
		fail_msg("%s: %s, not %s", r->machine, order, r->order);
	if (r->why && (!why || !strstr(why, r->why)))
		fail_msg("%s: %s: %s, not %s", r->machine, r->subject, why, r->why);
}

static void t_order(void **state)
{
	const char *last = NULL;
	struct composed c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		composed_keep(&c, &last, rows[i].machine);
		check(&c, &rows[i]);
	}
	composed_done(&c);
}

/* What /sys knows is read for leading candidates, never for a crowd of others. */
static void t_frugal(void **state)
{
	struct composed c;
	candidate_list all;
	size_t detailed = 0;

	(void)state;
	composed_load(&c, "hgx-h100");
	rank_ifaces(&c.inv, 0, &all);
	for (size_t k = 0; k < all.n; k++)
		detailed += all.v[k].iface->detailed;
	assert_int_equal(detailed, 7);
	composed_done(&c);

	composed_load(&c,
		      "link 2 a kind=veth elsewhere link=5\nlink 3 b kind=veth elsewhere link=6\n"
		      "addr a 10.0.0.1/24\naddr b 10.0.1.1/24\n");
	rank_ifaces(&c.inv, 0, &all);
	assert_false(all.v[0].iface->detailed || all.v[1].iface->detailed);
	composed_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_order),
		cmocka_unit_test(t_frugal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
