#include "probes/rules/nccl.h"

#include "lib/host/sysroot.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>

/* The first result counts, and its scope is dropped. */
static void take(const union addr *from, union addr *ret)
{
	*ret = *from;
	if (ret->sa.sa_family == AF_INET6)
		ret->v6.sin6_scope_id = 0;
}

static bool read_numeric(const char *host, union addr *ret)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
	struct addrinfo *found;
	union addr first = {0};

	if (getaddrinfo(host, NULL, &hints, &found))
		return false;
	memcpy(&first, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	take(&first, ret);
	return true;
}

static int resolve_name(const char *value, const struct rules_input *in, union addr *ret,
			const char **ret_why)
{
	const struct name_answer *got;
	struct nccl_ifspec list;

	/* NCCL uses its list parser here: only what is before the first ':' or ',' counts. */
	nccl_ifspec_parse(*value == '^' || *value == '=' ? "" : value, &list);
	*ret_why = "it must be IPV4:PORT, [IPV6]:PORT or HOST:PORT";
	if (!list.n)
		return -1;
	if (read_numeric(list.prefix[0], ret))
		return 0;
	*ret_why = "its host name is not looked up in a recorded tree";
	if (!sysroot_is_real())
		return -1;
	got = name_ask(in->names, list.prefix[0], in->inv->a);
	if (!got->addrs.n) {
		*ret_why = arena_printf(in->inv->a, "its host name %s", got->trouble);
		return -1;
	}
	take(&got->addrs.v[0], ret);
	return 0;
}

/* if_nametoindex(): the kernel knows altnames and cuts an alias label at the colon. */
static unsigned zone_index(const struct inventory *inv, const char *zone, size_t n)
{
	char name[IFNAMSIZ] = "";
	const struct iface *i;

	if (n >= sizeof(name))
		return 0;
	memcpy(name, zone, n);
	name[strcspn(name, ":")] = '\0';
	i = inventory_by_name(inv, name);
	return i ? (unsigned)i->index : 0;
}

static int resolve_v6(const char *value, const struct inventory *inv, union addr *ret,
		      const char **ret_why)
{
	size_t n = strcspn(value + 1, "]");
	const char *percent = memrchr(value + 1, '%', n);
	char text[INET6_ADDRSTRLEN + 1] = "";
	size_t host = percent ? (size_t)(percent - value - 1) : n;

	*ret_why = "it must be IPV4:PORT, [IPV6]:PORT or HOST:PORT";
	if (!value[1 + n])
		return -1;
	*ret = (union addr){.v6 = {.sin6_family = AF_INET6}};
	/* NCCL does not look whether this worked and compares what was in memory before. */
	*ret_why = "there is no IPv6 address between the brackets";
	if (host >= sizeof(text))
		return -1;
	memcpy(text, value + 1, host);
	if (inet_pton(AF_INET6, text, &ret->v6.sin6_addr) != 1)
		return -1;
	if (percent)
		ret->v6.sin6_scope_id = zone_index(inv, percent + 1, n - host - 1);
	return 0;
}

/* The parts of [HOST%ZONE]:PORT are copied unbounded, each into an array of its own. */
static size_t v6_overrun(const char *value)
{
	size_t n = strcspn(value + 1, "]"), port = strlen(value + 1 + n), zone;
	const char *percent = memrchr(value + 1, '%', n);

	if (!port) /* no ']': NCCL refuses it before it copies */
		return 0;
	zone = percent ? (size_t)(value + n - percent) : 0;
	port -= port > 1 ? strlen("]:") : 1;
	if (n - zone >= NI_MAXHOST)
		return n - zone;
	return zone >= IFNAMSIZ ? zone : port >= NI_MAXSERV ? port : 0;
}

size_t nccl_comm_id_overrun(const char *value, unsigned version)
{
	struct nccl_ifspec one = {0};

	if (*value == '[')
		return v6_overrun(value);
	/* One entry of a list, as NCCL_SOCKET_IFNAME has sixteen. */
	one.overrun = strcspn(value + strspn(value, ":,"), ":,");
	return one.overrun >= NCCL_NAME_SIZE ? nccl_ifspec_overrun(&one, version) : 0;
}

int nccl_comm_id_resolve(const char *value, const struct rules_input *in, union addr *ret,
			 const char **ret_why)
{
	size_t overrun = nccl_comm_id_overrun(value, in->nccl_version);

	*ret_why = "it is too short";
	if (strlen(value) < 2)
		return -1;
	if (overrun) {
		*ret_why = arena_printf(in->inv->a,
					"a part of %zu characters overruns NCCL's memory", overrun);
		return -1;
	}
	if (*value == '[' ? resolve_v6(value, in->inv, ret, ret_why)
			  : resolve_name(value, in, ret, ret_why))
		return -1;
	*ret_why = NULL;
	return 0;
}

uint16_t nccl_comm_id_port(const char *value, bool *ret_as_written)
{
	const char *bracket = *value == '[' ? strchr(value, ']') : NULL;
	struct nccl_ifspec list;
	long port;

	if (bracket) { /* "]:" is passed over, whatever it is */
		port = bracket[1] ? strtol(bracket + 2, NULL, 10) : 0;
	} else {
		nccl_ifspec_parse(value, &list);
		port = list.n ? list.port[0] : -1;
	}
	*ret_as_written = port > 0 && port <= UINT16_MAX;
	return (uint16_t)port;
}
