/* Single facts by ioctl: a device answers on any socket, so on that of netlink, too. */
#include "lib/net/netlink.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netlink/socket.h>
#include <sys/ioctl.h>

static int ask(struct netlink *nl, unsigned long what, struct ifreq *q)
{
	return nl->recorded ? -1 : ioctl(nl_socket_get_fd(nl->sock), what, q);
}

static int ask_name(struct netlink *nl, unsigned long what, const char *name, struct ifreq *q)
{
	if (strlen(name) >= sizeof(q->ifr_name))
		return -1;
	memcpy(q->ifr_name, name, strlen(name) + 1);
	return ask(nl, what, q);
}

int netlink_device(struct netlink *nl, int index, struct netdev *ret)
{
	struct ifreq q = {.ifr_ifindex = index};

	_Static_assert(sizeof(ret->name) == sizeof(q.ifr_name), "a name with its NUL");
	if (ask(nl, SIOCGIFNAME, &q) < 0)
		return -1;
	memcpy(ret->name, q.ifr_name, sizeof(ret->name));
	if (ask(nl, SIOCGIFFLAGS, &q) < 0)
		return -1;
	ret->flags = (unsigned short)q.ifr_flags;
	return 0;
}

int netlink_device_mtu(struct netlink *nl, const char *name, unsigned *ret)
{
	struct ifreq q = {0};

	if (ask_name(nl, SIOCGIFMTU, name, &q) < 0 || q.ifr_mtu < 0)
		return -1;
	*ret = (unsigned)q.ifr_mtu;
	return 0;
}

int netlink_device_driver(struct netlink *nl, const char *name, char ret[32])
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq q = {.ifr_data = (void *)&info};

	_Static_assert(sizeof(info.driver) == 32, "what our callers give");
	if (ask_name(nl, SIOCETHTOOL, name, &q) < 0)
		return -1;
	info.driver[sizeof(info.driver) - 1] = '\0';
	memcpy(ret, info.driver, sizeof(info.driver));
	return 0;
}
