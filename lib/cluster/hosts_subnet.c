/* A subnet where hosts were to be named. */
#include "lib/cluster/hostlist.h"
#include "lib/core/units.h"
#include "lib/net/addr.h"

/* Brackets run through the last number: of a wider one, or of IPv6, the first few. */
enum { BRACKETS = 24, POINT_TO_POINT = 31, FEW = 4 };

static const char *some_v4(const union addr *net, unsigned prefix, struct arena *a)
{
	uint32_t at = ntohl(net->v4.sin_addr.s_addr), low = at & 0xff;
	uint32_t from = low + (prefix < POINT_TO_POINT);
	uint32_t to = prefix < BRACKETS ? FEW : low + (0xff >> (prefix - BRACKETS)) - (from - low);

	return arena_printf(a, "%u.%u.%u.[%u-%u]", at >> 24, at >> 16 & 0xff, at >> 8 & 0xff, from,
			    to);
}

const char *hosts_of_subnet(const char *arg, struct arena *a)
{
	const char *slash = strchr(arg, '/'), *typed;
	struct addr_text t;
	union addr net;
	uint64_t prefix;

	if (!slash)
		return NULL;
	typed = arena_strndup(a, arg, (size_t)(slash - arg));
	if (parse_uint(slash + 1, &prefix) < 0 || addr_parse(typed, &net) < 0 ||
	    prefix > (net.sa.sa_family == AF_INET ? 32 : 128))
		return NULL;
	net = addr_network(&net, (unsigned)prefix);
	if (net.sa.sa_family == AF_INET && prefix < 32)
		return some_v4(&net, (unsigned)prefix, a);
	(void)addr_print(&net, &t);
	return ends_with(t.s, "::") ? arena_printf(a, "%s[1-%d]", t.s, FEW) : typed;
}
