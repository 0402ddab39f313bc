/* Hosts of our own subnet that there may be: this host's rules are asked about them. */
#include "probes/port/local.h"

enum { MOST_DEPTH = 64, LONGEST = 64 };

/* The bytes of an address, and how many bits they are. */
static uint8_t *bytes_of(union addr *a, unsigned *ret_bits)
{
	bool v4 = a->sa.sa_family == AF_INET;

	*ret_bits = v4 ? 32 : 128;
	return v4 ? (uint8_t *)&a->v4.sin_addr : a->v6.sin6_addr.s6_addr;
}

/* The network's own address, and the one that all of it hears, are no host's. */
static bool is_host(union addr peer, unsigned prefix)
{
	unsigned bits, ones = 0;
	const uint8_t *b = bytes_of(&peer, &bits);

	for (unsigned i = prefix; i < bits; i++)
		ones += b[i / 8] >> (7 - i % 8) & 1;
	return prefix + 2 > bits || (ones > 0 && (bits == 128 || ones < bits - prefix));
}

static void add(const struct local *l, peer_sample *to, union addr peer)
{
	addr_set_port(&peer, 0);
	if (to->n == PEER_SAMPLE || addr_equal(&peer, &l->s.addr->addr) ||
	    !is_host(peer, l->s.addr->prefix))
		return;
	for (size_t i = 0; i < to->n; i++)
		if (addr_equal(&peer, &to->v[i]))
			return;
	to->v[to->n++] = peer;
}

/* In a /30 the two between its network and its broadcast address are hosts, in a /31 both. */
static union addr neighbour(const struct iface_addr *x)
{
	union addr peer = x->addr;
	unsigned bits;
	uint8_t *last = bytes_of(&peer, &bits) + bits / 8 - 1;
	bool middle = (*last & 3) == 1 || (*last & 3) == 2;

	*last ^= x->prefix + 1 != bits && middle ? 3 : 1;
	return peer;
}

/* Of our network the address whose host bits are all @ones, but for the last. */
static union addr edge(const struct iface_addr *x, bool ones)
{
	union addr peer = x->addr;
	unsigned bits;
	uint8_t *b = bytes_of(&peer, &bits);

	for (unsigned i = x->prefix; i < bits; i++) {
		uint8_t bit = (uint8_t)(0x80 >> i % 8);
		bool set = i + 1 < bits ? ones : !ones;

		b[i / 8] = set ? b[i / 8] | bit : b[i / 8] & (uint8_t)~bit;
	}
	return peer;
}

/* What looks like an address, in whatever a rule or a set says. */
static void add_named(const struct local *l, const cJSON *x, peer_sample *to, unsigned depth)
{
	const struct iface_addr *own = l->s.addr;
	union addr at;

	for (; x && to->n < PEER_SAMPLE && depth < MOST_DEPTH; x = x->next) {
		if (cJSON_IsString(x) && strlen(x->valuestring) < LONGEST &&
		    strpbrk(x->valuestring, ".:") && !addr_parse(x->valuestring, &at) &&
		    at.sa.sa_family == own->addr.sa.sa_family &&
		    addr_in_subnet(&at, &own->addr, own->prefix))
			add(l, to, at);
		add_named(l, x->child, to, depth + 1);
	}
}

void local_sample_peers(const struct local *l, peer_sample *ret)
{
	const struct iface_addr *own = l->s.addr;
	unsigned bits;

	*ret = (peer_sample){0};
	add(l, ret, neighbour(own));
	(void)bytes_of(&(union addr){.sa.sa_family = own->addr.sa.sa_family}, &bits);
	if (own->prefix + 2 > bits)
		return;
	add(l, ret, edge(own, false));
	add(l, ret, edge(own, true));
	for (size_t i = 0; i < l->fw.nft.rules.n; i++) {
		const cJSON *expr = l->fw.nft.rules.v[i].expr;

		add_named(l, expr ? expr->child : NULL, ret, 0);
	}
	for (size_t i = 0; i < l->fw.nft.sets.n; i++)
		add_named(l, l->fw.nft.sets.v[i].elem, ret, 0);
}
