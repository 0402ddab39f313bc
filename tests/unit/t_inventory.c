/* Interfaces from netlink and /sys: kinds, states, addresses, routes, damage; and this kernel's. */
#include "tests/unit/composed.h"

#include <ifaddrs.h>
#include <linux/if_addr.h>
#include <net/if.h>

static union addr ip(const char *s)
{
	union addr a;

	assert_int_equal(addr_parse(s, &a), 0);
	return a;
}

static const char *text(const union addr *a)
{
	static struct addr_text buf;

	return addr_print(a, &buf);
}

static void t_kinds(void **state)
{
	static const struct {
		const char *line;
		enum iface_kind kind;
	} rows[] = {
		{"lo type=loopback", IFACE_LOOPBACK},
		{"eth0 pci=0000:00:03.0", IFACE_PHYSICAL},
		{"eth0", IFACE_PHYSICAL}, /* no parent device: Xen, an old kernel */
		{"docker1 pci=0000:00:03.0", IFACE_PHYSICAL},
		{"ib0 type=infiniband pci=0000:00:04.0", IFACE_IPOIB},
		{"ib0.8001 type=infiniband kind=ipoib", IFACE_IPOIB},
		{"bond0 kind=bond", IFACE_BOND},
		{"team0 kind=team", IFACE_BOND},
		{"eth0.5 kind=vlan", IFACE_VLAN},
		{"mv0 kind=macvlan", IFACE_MACVLAN},
		{"br0 kind=bridge", IFACE_BRIDGE},
		{"br-lan kind=bridge", IFACE_BRIDGE},
		{"br-0a1b2c3d4e5 kind=bridge", IFACE_BRIDGE},
		{"br-0a1b2c3d4e5f kind=bridge", IFACE_CONTAINER},
		{"br-0a1b2c3d4e5g kind=bridge", IFACE_BRIDGE},
		{"docker0 kind=bridge", IFACE_CONTAINER},
		{"docker_gwbridge kind=bridge", IFACE_CONTAINER},
		{"virbr0 kind=bridge", IFACE_CONTAINER},
		{"podman0 kind=bridge", IFACE_CONTAINER},
		{"cni-podman0 kind=bridge", IFACE_CONTAINER},
		{"cni0 kind=bridge", IFACE_CONTAINER},
		{"nerdctl0 kind=bridge", IFACE_CONTAINER},
		{"cbr0 kind=bridge", IFACE_CONTAINER},
		{"lxcbr0 kind=bridge", IFACE_CONTAINER},
		{"lxdbr0 kind=bridge", IFACE_CONTAINER},
		{"incusbr0 kind=bridge", IFACE_CONTAINER},
		{"incusbr-1000 kind=openvswitch", IFACE_CONTAINER},
		{"flannel.1 kind=vxlan", IFACE_CONTAINER},
		{"vxlan7 kind=vxlan", IFACE_TUNNEL},
		{"cali0123456789a kind=veth", IFACE_CONTAINER},
		{"eth0 kind=veth elsewhere", IFACE_VETH},
		{"nodelocaldns kind=dummy", IFACE_CONTAINER},
		{"dummy0 kind=dummy", IFACE_DUMMY},
		{"tailscale0 type=none kind=tun", IFACE_VPN},
		{"wg0 type=none kind=wireguard", IFACE_VPN},
		{"tailscale0", IFACE_VPN}, /* no kind told */
		{"ppp0 type=ppp", IFACE_VPN},
		{"macsec0 kind=macsec", IFACE_OTHER},
	};

	char lines[4096] = "";
	struct composed c;
	int n = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		n += snprintf(lines + n, sizeof(lines) - (size_t)n, "link %zu %s\n", i + 1,
			      rows[i].line);
	composed_load(&c, lines);
	assert_int_equal(c.inv.ifaces.n, ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (c.inv.ifaces.v[i].kind != rows[i].kind)
			fail_msg("%s: %s", rows[i].line, iface_kind_name(c.inv.ifaces.v[i].kind));
	}
	composed_done(&c);
}

static void t_links(void **state)
{
	struct composed c;
	struct iface *i;

	(void)state;
	composed_load(&c, "host box7\n"
			  "link 3 bond0 kind=bond\n"
			  "link 900 b state=down\n"
			  "link 2 a master=bond0 mtu=9000 mac=0a:1b:2c:3d:4e:5f alt=x1,x2 "
			  "pci=0000:03:00.0 driver=ice numa=1 speed=25000\n"
			  "link 5 c state=nocarrier speed=4294967295\n"
			  "link 6 d state=dormant wireless\n"
			  "link 7 e kind=veth link=6 elsewhere speed=10000\n"
			  "link 10 t type=none kind=tun speed=10000\n"
			  "link 8 f kind=vlan link=a\n"
			  "link 9 v pci=0000:04:00.1 vf noparent\n");
	assert_string_equal(c.inv.hostname, "box7");
	assert_int_equal(c.inv.ifaces.n, 9);
	assert_string_equal(c.inv.ifaces.v[1].name, "b"); /* the kernel's order, not by index */

	i = composed_iface(&c, "x2");
	assert_string_equal(i->name, "a");
	assert_ptr_equal(i, inventory_by_index(&c.inv, 2));
	assert_int_equal(i->mtu, 9000);
	assert_int_equal(i->master, 3);
	assert_int_equal(i->carrier, 1);
	assert_string_equal(i->mac, "0a:1b:2c:3d:4e:5f");
	assert_string_equal(i->device, "0000:03:00.0");
	assert_int_equal(i->speed_mbps, -1); /* not read yet */
	inventory_detail(&c.inv, i);
	assert_int_equal(i->speed_mbps, 25000);
	assert_string_equal(i->driver, "ice");
	assert_int_equal(i->numa, 1);

	assert_string_equal(iface_state_name(composed_iface(&c, "a")), "up");
	assert_string_equal(iface_state_name(composed_iface(&c, "b")), "down");
	assert_int_equal(composed_iface(&c, "b")->carrier, -1);
	assert_string_equal(iface_state_name(composed_iface(&c, "c")), "no carrier");
	inventory_detail(&c.inv, composed_iface(&c, "c"));
	assert_int_equal(composed_iface(&c, "c")->speed_mbps, -1);
	assert_string_equal(iface_state_name(composed_iface(&c, "d")), "dormant");
	inventory_detail(&c.inv, composed_iface(&c, "d"));
	assert_true(composed_iface(&c, "d")->wireless);
	/* what these drivers say is a constant of theirs */
	inventory_detail(&c.inv, composed_iface(&c, "e"));
	assert_int_equal(composed_iface(&c, "e")->speed_mbps, -1);
	inventory_detail(&c.inv, composed_iface(&c, "t"));
	assert_int_equal(composed_iface(&c, "t")->speed_mbps, -1);
	assert_true(composed_iface(&c, "e")->link_elsewhere);
	assert_int_equal(composed_iface(&c, "e")->link, 0); /* 6 is a number of elsewhere */
	assert_int_equal(composed_iface(&c, "f")->link, 2);

	i = composed_iface(&c, "v");
	assert_null(i->device);
	inventory_detail(&c.inv, i);
	assert_string_equal(i->device, "0000:04:00.1");
	assert_string_equal(i->bus, "pci");
	assert_int_equal(i->kind, IFACE_VF);

	assert_null(inventory_by_name(&c.inv, "nosuch"));
	assert_null(inventory_by_index(&c.inv, 4));
	assert_null(inventory_by_index(&c.inv, -1));
	composed_done(&c);
}

/* /sys of another namespace: the same name, another interface. */
static void t_foreign_sys(void **state)
{
	struct composed c;

	(void)state;
	composed_load(&c, "link 2 eth0 speed=10000 pci=0000:03:00.0 driver=ice noparent\n"
			  "file /sys/class/net/eth0/ifindex 9\n");
	inventory_detail(&c.inv, composed_iface(&c, "eth0"));
	assert_int_equal(composed_iface(&c, "eth0")->speed_mbps, -1);
	assert_null(composed_iface(&c, "eth0")->driver);
	composed_done(&c);
}

static void t_addrs(void **state)
{
	static const char *const usable[] = {"10.0.0.5", "10.0.1.5", "172.30.0.1", "2001:db8::5",
					     "fd00::9"};
	union addr five = ip("10.0.1.5"), six = ip("10.0.1.6");
	struct composed c;
	size_t found = 0;

	(void)state;
	composed_load(&c,
		      "link 1 lo type=loopback\nlink 2 a\nlink 3 b\n"
		      "addr lo 127.0.0.1/8\naddr a 169.254.3.4/16\naddr a 10.0.0.5/24\n"
		      "addr a 10.0.1.5/24 label=a:1\naddr b 172.30.0.1/32 peer=172.30.0.2\n"
		      "addr b 10.9.9.9/32 scope=host\n"
		      "addr lo ::1/128\naddr a fe80::5/64\naddr a 2001:db8::4/64 flags=tentative\n"
		      "addr a 2001:db8::5/64 flags=tentative,optimistic\n"
		      "addr b 2001:db8::6/64 flags=dadfailed,permanent\n"
		      "addr b fd00::9/64 flags=temporary\n");
	assert_int_equal(c.inv.addrs.n, 12);
	assert_int_equal(composed_iface(&c, "a")->naddrs, 6);
	for (size_t i = 0; i < c.inv.addrs.n; i++) {
		if (iface_addr_is_usable(&c.inv.addrs.v[i]))
			assert_string_equal(text(&c.inv.addrs.v[i].addr), usable[found++]);
	}
	assert_int_equal(found, ARRAY_LEN(usable));

	assert_string_equal(c.inv.addrs.v[3].label, "a:1");
	assert_string_equal(c.inv.addrs.v[2].label, "a");
	assert_int_equal(c.inv.addrs.v[7].addr.v6.sin6_scope_id, 2);
	assert_string_equal(text(&iface_best_addr(&c.inv, composed_iface(&c, "a"), 0)->addr),
			    "10.0.0.5");
	assert_string_equal(text(&iface_best_addr(&c.inv, composed_iface(&c, "a"), AF_INET6)->addr),
			    "2001:db8::5");
	assert_null(iface_best_addr(&c.inv, composed_iface(&c, "lo"), 0));
	assert_string_equal(inventory_by_addr(&c.inv, &five)->iface->name, "a");
	assert_null(inventory_by_addr(&c.inv, &six));
	composed_done(&c);
}

static void t_defaults(void **state)
{
	struct composed c;

	(void)state;
	composed_load(&c, "link 2 a\nlink 3 b\nlink 4 c\naddr a 10.0.0.5/24\naddr b 10.0.1.5/24\n"
			  "addr c 2001:db8::5/64\n"
			  "route default via=10.0.0.1 dev=a metric=200\n"
			  "route default via=10.0.0.2 dev=a metric=100\n"
			  "route default hop=a,10.0.0.1+b,10.0.1.1 metric=300\n"
			  "route default dev=c ipv6 metric=1024\n"
			  "route default via=10.0.1.9 dev=b type=unreachable\n"
			  "route 0.0.0.0/1 dev=b\n");
	assert_int_equal(c.inv.defaults.n, 5);
	assert_true(composed_iface(&c, "a")->default_route4);
	assert_false(composed_iface(&c, "a")->default_route6);
	assert_int_equal(composed_iface(&c, "a")->default_metric4, 100);
	assert_true(composed_iface(&c, "b")->default_route4);
	assert_int_equal(composed_iface(&c, "b")->default_metric4, 300);
	assert_true(composed_iface(&c, "c")->default_route6);
	assert_string_equal(text(&c.inv.defaults.v[3].gateway), "10.0.1.1");
	assert_false(c.inv.defaults.v[4].has_gateway);
	composed_done(&c);
}

static void t_recorded_routes(void **state)
{
	static const struct {
		const char *to, *from;
		int oif;
		const char *why; /* NULL: reachable */
		int via;
		const char *source;
	} rows[] = {
		{"10.0.0.9", NULL, 0, NULL, 2, "10.0.0.5"},
		{"10.0.0.200", NULL, 0, NULL, 3, "10.1.0.5"}, /* the longer prefix */
		{"10.0.0.5", NULL, 0, NULL, 1, "10.0.0.5"},
		{"8.8.8.8", NULL, 0, NULL, 2, "10.0.0.5"}, /* the lower metric */
		{"8.8.8.8", NULL, 3, NULL, 3, "10.1.0.5"},
		{"8.8.8.8", "10.1.0.5", 0, NULL, 2, "10.1.0.5"},
		{"8.8.8.8", "10.1.0.6", 0, "not possible from this source address", 0, NULL},
		{"8.8.8.8", "fd00::1", 0, "the source address is of the other family", 0, NULL},
		{"8.8.8.8", NULL, 4, "no route", 0, NULL},
		{"10.66.1.1", NULL, 0, "prohibited", 0, NULL},
		{"10.67.1.1", NULL, 0, "blackhole", 0, NULL},
		{"fd00::9", NULL, 0, NULL, 3, "fd00::1"},
		{"2001:db8::1", NULL, 0, "no route", 0, NULL},
	};
	struct composed c;
	struct err e;

	(void)state;
	composed_load(&c, "link 1 lo type=loopback\nlink 2 a\nlink 3 b\nlink 4 c\n"
			  "addr a 10.0.0.5/24\naddr b 10.1.0.5/24\naddr b fd00::1/64\n"
			  "route 10.0.0.128/25 dev=b via=10.1.0.1\n"
			  "route default dev=b via=10.1.0.1 metric=200\n"
			  "route default dev=a via=10.0.0.1 metric=100\n"
			  "route 10.66.0.0/16 type=prohibit\nroute 10.67.0.0/16 type=blackhole\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		union addr to = ip(rows[i].to), from = ip(rows[i].from ? rows[i].from : "::");
		struct route r;
		const void *bytes;
		size_t n;

		print_message("%s\n", rows[i].to);
		assert_int_equal(
			netlink_route(&c.nl, &to, rows[i].oif, rows[i].from ? &from : NULL, &r, &e),
			0);
		assert_int_equal(r.reachable, !rows[i].why);
		if (rows[i].why) {
			assert_string_equal(r.why, rows[i].why);
			continue;
		}
		assert_int_equal(r.oif, rows[i].via);
		from = ip(rows[i].source);
		bytes = netlink_addr_bytes(&from, &n);
		assert_memory_equal(r.source, bytes, n);
	}
	composed_done(&c);
}

static void overwrite(struct composed *c, const char *file, const void *data, size_t n)
{
	FILE *f = fopen(arena_printf(&c->a, "%s/netlink/%s", c->dir, file), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void t_damage(void **state)
{
	struct composed c;
	struct err e = {0};

	(void)state;
	composed_make(&c, "container");
	overwrite(&c, "links", "\x20\0\0\0\x10\0 too short", 16);
	assert_int_equal(composed_read(&c, &e), -1);
	assert_int_equal(e.kind, ERR_SYS);
	assert_non_null(strstr(e.msg, "links: damaged at byte 0 of 16"));
	composed_done(&c);

	composed_make(&c, "link 1 ../../../etc\n");
	assert_int_equal(composed_read(&c, &e), -1); /* such a name would leave /sys */
	assert_non_null(strstr(e.msg, "makes no sense"));
	composed_done(&c);

	composed_make(&c, "container");
	assert_int_equal(unlink(arena_printf(&c.a, "%s/netlink/links", c.dir)), 0);
	assert_int_equal(composed_read(&c, &e), -1);
	composed_done(&c);

	e = (struct err){0};
	composed_make(&c, "container");
	assert_int_equal(unlink(arena_printf(&c.a, "%s/netlink/routes6", c.dir)), 0);
	overwrite(&c, "routes4", "", 0);
	assert_int_equal(composed_read(&c, &e), 0);
	assert_int_equal(e.kind, ERR_NONE);
	assert_false(composed_iface(&c, "eth0")->default_route4);
	composed_done(&c);

	composed_make(&c, "host empty\n"); /* no interfaces at all */
	assert_int_equal(composed_read(&c, &e), 0);
	assert_int_equal(c.inv.ifaces.n, 0);
	assert_null(inventory_by_name(&c.inv, "lo"));
	composed_done(&c);
}

/* The running kernel: our order of addresses must be getifaddrs()'s, NCCL's choice hangs on it. */
static void t_this_kernel(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	union addr loopback = ip("127.0.0.1"), foreign = ip("192.0.2.77");
	struct ifaddrs *all;
	struct inventory inv;
	struct netlink nl;
	struct route r;
	struct err e;
	size_t n = 0;

	(void)state;
	assert_int_equal(netlink_open(&nl, NULL, &e), 0);
	assert_int_equal(inventory_read(&inv, &nl, INV_ALL, &a, &e), 0);
	assert_int_equal(getifaddrs(&all), 0);
	for (struct ifaddrs *x = all; x; x = x->ifa_next) {
		struct iface *i = inventory_by_name(&inv, x->ifa_name);

		if (i)
			assert_int_equal(i->flags & (IFF_UP | IFF_LOOPBACK),
					 x->ifa_flags & (IFF_UP | IFF_LOOPBACK));
		if (!x->ifa_addr ||
		    (x->ifa_addr->sa_family != AF_INET && x->ifa_addr->sa_family != AF_INET6))
			continue;
		assert_true(n < inv.addrs.n);
		assert_string_equal(inv.addrs.v[n].label, x->ifa_name);
		assert_memory_equal(&inv.addrs.v[n].addr, x->ifa_addr,
				    addr_len(&inv.addrs.v[n].addr));
		n++;
	}
	assert_int_equal(n, inv.addrs.n);
	freeifaddrs(all);

	assert_int_equal(netlink_route(&nl, &loopback, 0, NULL, &r, &e), 0);
	if (inventory_by_addr(&inv, &loopback)) {
		assert_true(r.reachable);
		assert_int_equal(r.type, RTN_LOCAL);
		assert_string_equal(inventory_by_index(&inv, r.oif)->name, "lo");
	}
	assert_int_equal(netlink_route(&nl, &loopback, 0, &foreign, &r, &e), 0);
	assert_false(r.reachable);
	netlink_close(&nl);
	netlink_close(&nl); /* again is harmless */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_kinds),	 cmocka_unit_test(t_links),
		cmocka_unit_test(t_foreign_sys), cmocka_unit_test(t_addrs),
		cmocka_unit_test(t_defaults),	 cmocka_unit_test(t_recorded_routes),
		cmocka_unit_test(t_damage),	 cmocka_unit_test(t_this_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
