#ifndef LIB_NET_XFRM_H
#define LIB_NET_XFRM_H
/*
 * This host's IPsec policies, as the kernel has them (which takes CAP_NET_ADMIN): which of them
 * stops a packet that is sent in the clear? One that blocks it, or that asks for a key that nobody
 * has agreed on, or none where what has none is blocked (Linux 5.14): it vanishes without a word,
 * and no firewall's rule shows it.
 */
#include "lib/net/addr.h"

struct xfrm_policy {
	union addr from, to; /* networks */
	unsigned from_len, to_len;
	uint32_t priority; /* the least decides */
	uint8_t proto;	   /* 0: any */
	bool out;	   /* else in */
	bool blocks;
	bool is_default;	     /* it is none, but what befalls that for which there is none */
	uint8_t asks_for;	     /* the protocol of its first required template; 0: none */
	union addr key_from, key_to; /* between whom; zeroes: those of the packet */
};
struct xfrm_key {
	union addr from, to;
	uint8_t proto;
};
struct xfrm {
	LIST(struct xfrm_policy) policies;
	LIST(struct xfrm_key) keys;
	bool blocks_in, blocks_out; /* what has no policy */
};
/* Without the right to read them, or all of them, there are none. */
void xfrm_read(struct xfrm *x, struct arena *a);
/* What the kernel sent at a time. False: no more is to come, and @ret_whole: it sent all. */
bool xfrm_take(struct xfrm *x, const void *bytes, size_t n, struct arena *a, bool *ret_whole);
/*
 * The policy that stops TCP from @from to @to, which comes in or (@out) leaves by interface @iface
 * (NULL: not known), which may be spared from them; NULL: none does.
 */
const struct xfrm_policy *xfrm_stops(const struct xfrm *x, bool out, const char *iface,
				     const union addr *from, const union addr *to);
/* "src 10.0.0.1/32 dst 10.0.0.0/16 dir out", as `ip xfrm policy delete` takes it; "in" or "out" of
 * a default, as `ip xfrm policy setdefault` does. */
const char *xfrm_describe(const struct xfrm_policy *p, struct arena *a);

#endif
