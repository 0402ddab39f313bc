#include "bench/ranks/address.h"

#include "lib/net/netlink.h"

static bool are_elsewhere(const struct rdzv_member *m, size_t n, int rank)
{
	for (size_t i = 0; i < n; i++)
		if (!streq(m[i].host, m[rank].host))
			return true;
	return false;
}

/* Containers that share one network may well meet on its loopback: those can list it. */
static int check_list(const struct rdzv_member *own, struct err *e)
{
	AUTO(netlink_close) struct netlink nl = {0};
	struct err why = {0};

	if (netlink_open(&nl, NULL, &why) == 0)
		return 0;
	err_set(e, ERR_SYS, "%.60s does not know the address that other hosts reach it at: %.300s",
		own->host, why.msg);
	return err_hint_of(e, &why);
}

int rank_address(struct rdzv *r, union addr *ret, struct err *e)
{
	int rank = rdzv_rank(r);
	const struct rdzv_member *m;
	const char *at;
	size_t n;

	if (rdzv_members(r, &m, &n, e))
		return -1;
	at = *m[rank].data_addr ? m[rank].data_addr : "127.0.0.1";
	if (addr_parse(at, ret))
		return err_set(e, ERR_USAGE, "'%s' is not an address", at);
	if (addr_class(ret) != ADDR_LOOPBACK || !are_elsewhere(m, n, rank))
		return 0;
	return check_list(&m[rank], e);
}
