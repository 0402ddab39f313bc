#include "lib/host/nccl_channel.h"

#include <ctype.h>

enum { NUMBERS_MAX = 1 << 20 };

/* "12[0]", "12[1d000]": the rank, and behind it; NULL: not such a thing. Rings of 2.3 and 2.4 may
 * have the number alone. */
static const char *rank_at(const char *p, bool may_be_bare, int *ret)
{
	char *end;
	long v = strtol(p, &end, 10);

	if (end == p || v < 0 || v > NUMBERS_MAX)
		return NULL;
	*ret = (int)v;
	if (*end == '[')
		return (end = strchr(end, ']')) ? end + 1 : NULL;
	return may_be_bare && *end == ' ' ? end : NULL;
}

/* A network's name may have blanks; what ends it is the number of the card, "/0". */
static size_t net_length(const char *name)
{
	const char *p = name + strlen("NET/");

	for (const char *slash = p; (slash = strchr(slash, '/')); slash++) {
		const char *end = slash + 1 + strspn(slash + 1, "0123456789");

		if (end > slash + 1 && (!*end || strchr("/( \t\r\n", *end)))
			return (size_t)(slash - name);
	}
	return (size_t)(p - name) + strcspn(p, "/ \t\r\n(");
}

/* "P2P/indirect/3[1]" has another rank in it. */
static void name_way(const char *via, struct nccl_channel *ret)
{
	ret->name = via;
	ret->way = NCCL_WAY_OTHER;
	ret->kind_n = strcspn(via, "/ \t\r\n");
	ret->name_n = strcspn(via, " \t\r\n");
	if (starts_with(via, "NET/")) {
		ret->way = NCCL_WAY_NET;
		ret->kind_n = ret->name_n = net_length(via);
	} else if (starts_with(via, "P2P/")) {
		ret->way = NCCL_WAY_P2P;
		ret->name_n = 4 + strcspn(via + 4, "/ \t\r\n");
	} else if (starts_with(via, "SHM/")) {
		ret->way = NCCL_WAY_SHM;
	} else if (starts_with(via, "direct shared memory")) { /* until 2.13 */
		ret->name = "SHM";
		ret->way = NCCL_WAY_SHM;
		ret->name_n = ret->kind_n = strlen(ret->name);
	}
}

bool nccl_channel_read(const char *line, struct nccl_channel *ret)
{
	const char *info = strstr(line, "NCCL INFO "), *at, *via;
	bool is_ring;

	at = info ? info + strlen("NCCL INFO ") : "";
	is_ring = starts_with(at, "Ring ");
	if (!is_ring && !starts_with(at, "Channel "))
		return false;
	at = strstr(at, " : ");
	at = at ? rank_at(at + 3, is_ring, &ret->from) : NULL;
	at = at && starts_with(at, " -> ") ? rank_at(at + 4, is_ring, &ret->to) : NULL;
	via = at ? strstr(at, " via ") : NULL;
	if (!via || isspace((unsigned char)via[5]) || !via[5])
		return false;
	ret->end = starts_with(at, " [send]")	   ? NCCL_END_SEND
		   : starts_with(at, " [receive]") ? NCCL_END_RECEIVE
						   : NCCL_END_UNSAID;
	name_way(via + 5, ret);
	ret->is_direct = strstr(via, "/GDRDMA") != NULL;
	return true;
}
