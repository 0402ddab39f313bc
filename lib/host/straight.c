#include "lib/host/straight.h"

#include "lib/core/quote.h"

const char *straight_router(const struct route *r, const struct iface_addr *mine,
			    const union addr *to, struct arena *a)
{
	bool is_near = mine->prefix && mine->addr.sa.sa_family == to->sa.sa_family &&
		       addr_in_subnet(to, &mine->addr, mine->prefix);

	return is_near && r->reachable && r->oif == mine->iface->index
		       ? netlink_router(r, to->sa.sa_family, a)
		       : NULL;
}

const char *straight_command(struct netlink *nl, const struct iface_addr *mine,
			     const union addr *to, struct arena *a)
{
	union addr net = addr_network(&mine->addr, mine->prefix);
	struct addr_text at;

	return netlink_prefer_main(nl, mine->iface->index, &mine->addr, to, a)
		       ?: netlink_undo_route(nl, &mine->addr, to, a)
		       ?: arena_printf(a, "%s route replace %s/%u dev %s",
				       addr_ip_command(to->sa.sa_family), addr_print(&net, &at),
				       mine->prefix, shell_quote(a, mine->iface->name));
}
