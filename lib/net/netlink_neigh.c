/* What the kernel knows of a neighbour: has it answered, and when last. */
#include "lib/core/units.h"
#include "lib/net/addr.h"
#include "lib/net/netlink.h"

#include <linux/neighbour.h>
#include <netlink/msg.h>

static struct nl_msg *neigh_request(const union addr *to, int oif)
{
	size_t n;
	const void *dst = netlink_addr_bytes(to, &n);
	struct ndmsg d = {.ndm_family = (unsigned char)to->sa.sa_family, .ndm_ifindex = oif};
	struct nl_msg *m = nlmsg_alloc_simple(RTM_GETNEIGH, 0);

	if (m && nlmsg_append(m, &d, sizeof(d), NLMSG_ALIGNTO) == 0 &&
	    nla_put(m, NDA_DST, (int)n, dst) == 0)
		return m;
	nlmsg_free(m);
	return NULL;
}

/* Its times are in the clock ticks that programs see, a hundred a second on every machine. */
static int take_neigh(const struct nlmsghdr *h, void *arg)
{
	enum { TICKS = 100 };
	struct neighbour *ret = arg;
	struct nlattr *tb[NDA_MAX + 1];
	const struct ndmsg *d = nlmsg_data(h);
	struct nda_cacheinfo times;

	if (h->nlmsg_type != RTM_NEWNEIGH || netlink_attrs(h, sizeof(*d), tb, NDA_MAX) < 0)
		return 0;
	ret->known = true;
	ret->state = d->ndm_state;
	ret->confirmed_ns = UINT64_MAX;
	if (tb[NDA_CACHEINFO] && nla_len(tb[NDA_CACHEINFO]) >= (int)sizeof(times)) {
		memcpy(&times, nla_data(tb[NDA_CACHEINFO]), sizeof(times));
		ret->confirmed_ns = times.ndm_confirmed * (NS_PER_S / TICKS);
	}
	ret->has_mac = tb[NDA_LLADDR] && nla_len(tb[NDA_LLADDR]) == sizeof(ret->mac);
	if (ret->has_mac)
		memcpy(ret->mac, nla_data(tb[NDA_LLADDR]), sizeof(ret->mac));
	return -1;
}

int netlink_neighbour(struct netlink *nl, const union addr *of, int oif, struct neighbour *ret,
		      struct err *e)
{
	AUTO(netlink_msg_freep) struct nl_msg *m = NULL;
	struct neighbour answer = {0};
	const struct netlink_sink sink = {.each = take_neigh, .arg = &answer};
	struct netlink_end end;

	*ret = answer;
	if (nl->recorded)
		return 0;
	m = neigh_request(of, oif);
	if (!m)
		return err_set(e, ERR_SYS, "no memory for a netlink request");
	if (netlink_ask(nl, m, &sink, &end, e) < 0)
		return -1;
	*ret = answer; /* no such entry, or a kernel before 5.0, which lists them only: not known */
	return 0;
}
