/* One interface out of one message of the kernel's. */
#include "lib/host/inventory_read.h"

#include <linux/if_link.h>
#include <net/if.h>
#include <netlink/msg.h>

/* IFLA_PARENT_DEV_NAME and _BUS_NAME, Linux 5.14: older headers lack the names. */
enum { PARENT_DEV_NAME = 56, PARENT_DEV_BUS_NAME = 57, LINK_ATTRS = PARENT_DEV_BUS_NAME };

/* Bounded: a recorded text may lack its NUL. */
static const char *take_text(struct arena *a, struct nlattr *from)
{
	size_t n = strnlen(nla_data(from), (size_t)nla_len(from));

	return arena_strndup(a, nla_data(from), n);
}

/* As the kernel's dev_valid_name(): names become paths below /sys. */
static bool is_valid_name(const char *s)
{
	return *s && strlen(s) < IFNAMSIZ && !strchr(s, '/') && !streq(s, ".") && !streq(s, "..");
}

static const char *mac_text(struct arena *a, struct nlattr *from)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *mac = nla_data(from);
	size_t n = (size_t)nla_len(from);
	char *s, *p;
	bool any = false;

	if (n == 0 || n > 32)
		return NULL;
	p = s = arena_alloc(a, n * 3);
	for (size_t i = 0; i < n; i++) {
		any |= mac[i] != 0;
		*p++ = hex[mac[i] >> 4];
		*p++ = hex[mac[i] & 15];
		*p++ = i + 1 < n ? ':' : '\0';
	}
	return any ? s : NULL;
}

static void take_altnames(struct arena *a, struct iface *i, struct nlattr *list)
{
	struct nlattr *one;
	int left;

	nla_for_each_nested(one, list, left)
	{
		if (nla_type(one) == IFLA_ALT_IFNAME && nla_len(one) > 0)
			*LIST_ADD(a, &i->altnames) = take_text(a, one);
	}
}

static void take_kind(struct arena *a, struct iface *i, struct nlattr *info)
{
	struct nlattr *kind = nla_find(nla_data(info), nla_len(info), IFLA_INFO_KIND);

	if (kind && nla_len(kind) > 0)
		i->link_kind = take_text(a, kind);
}

static void fill_link(struct arena *a, struct iface *i, struct nlattr *const *tb)
{
	int link = (int)netlink_u32(tb[IFLA_LINK], 0);

	i->mtu = netlink_u32(tb[IFLA_MTU], 0);
	i->master = (int)netlink_u32(tb[IFLA_MASTER], 0);
	i->operstate = netlink_u8(tb[IFLA_OPERSTATE], 0);
	i->carrier = tb[IFLA_CARRIER] ? netlink_u8(tb[IFLA_CARRIER], 0) != 0 : -1;
	i->link_elsewhere = tb[IFLA_LINK_NETNSID] != NULL;
	/* In another namespace it is a number of that namespace's. */
	if (!i->link_elsewhere && link != i->index)
		i->link = link;
	if (tb[IFLA_ADDRESS])
		i->mac = mac_text(a, tb[IFLA_ADDRESS]);
	if (tb[IFLA_LINKINFO])
		take_kind(a, i, tb[IFLA_LINKINFO]);
	if (tb[IFLA_PROP_LIST])
		take_altnames(a, i, tb[IFLA_PROP_LIST]);
	if (tb[PARENT_DEV_NAME] && tb[PARENT_DEV_BUS_NAME]) {
		i->device = take_text(a, tb[PARENT_DEV_NAME]);
		i->bus = take_text(a, tb[PARENT_DEV_BUS_NAME]);
	}
}

int iface_fill(struct iface *ret, const struct nlmsghdr *h, struct arena *a)
{
	struct nlattr *tb[LINK_ATTRS + 1];
	const struct ifinfomsg *m = nlmsg_data(h);
	struct iface i;

	if (netlink_attrs(h, sizeof(*m), tb, LINK_ATTRS) < 0 || !tb[IFLA_IFNAME] ||
	    m->ifi_index <= 0)
		return -1;
	i = (struct iface){.index = m->ifi_index,
			   .name = take_text(a, tb[IFLA_IFNAME]),
			   .flags = m->ifi_flags,
			   .type = m->ifi_type,
			   .naddrs = ret->naddrs,
			   .addrs = ret->addrs,
			   .default_route4 = ret->default_route4,
			   .default_route6 = ret->default_route6,
			   .default_metric4 = ret->default_metric4,
			   .default_metric6 = ret->default_metric6,
			   .speed_mbps = -1,
			   .numa = -1};
	if (!is_valid_name(i.name))
		return -1;
	fill_link(a, &i, tb);
	i.kind = iface_kind_of(&i);
	*ret = i;
	return 0;
}
