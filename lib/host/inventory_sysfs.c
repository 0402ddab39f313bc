#include "lib/host/inventory.h"
#include "lib/host/sysroot.h"

#define NET "/sys/class/net/%s/"

/* /sys may belong to another network namespace, where this name is another interface. */
static bool is_described(struct arena *a, const struct iface *i)
{
	return sysroot_int(a, -1, NET "ifindex", i->name) == i->index;
}

/* 10000, whatever is behind it: a constant of the drivers of veth and tun. */
static bool is_made_up(const struct iface *i)
{
	return i->link_kind && (streq(i->link_kind, "veth") || streq(i->link_kind, "tun"));
}

void inventory_detail(struct inventory *inv, struct iface *i)
{
	struct arena *a = inv->a;
	int64_t speed;

	if (i->detailed)
		return;
	i->detailed = true;
	i->speed_mbps = i->numa = -1;
	if (!is_described(a, i))
		return;
	/* 0, -1 and 4294967295 are what drivers say when they do not know. */
	speed = sysroot_int(a, -1, NET "speed", i->name);
	i->speed_mbps = speed > 0 && speed < UINT32_MAX && !is_made_up(i) ? speed : -1;
	i->wireless =
		sysroot_exists(NET "phy80211", i->name) || sysroot_exists(NET "wireless", i->name);
	i->driver = sysroot_link_name(a, NET "device/driver", i->name);
	i->numa = (int)sysroot_int(a, -1, NET "device/numa_node", i->name);
	if (!i->device) {
		i->device = sysroot_link_name(a, NET "device", i->name);
		i->bus = sysroot_link_name(a, NET "device/subsystem", i->name);
	}
	/* Every NIC has a device; a driver without one, and without a kind, is no NIC's. */
	if (!i->device && !i->link_kind && i->kind == IFACE_PHYSICAL)
		i->kind = IFACE_OTHER;
	i->is_vf = sysroot_exists(NET "device/physfn", i->name);
	if (i->is_vf && i->kind == IFACE_PHYSICAL)
		i->kind = IFACE_VF;
}
