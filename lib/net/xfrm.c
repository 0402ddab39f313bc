#include "lib/net/xfrm.h"

#include "lib/core/units.h"
#include "lib/host/sysroot.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>
#include <sys/time.h>

enum { BUFFER = 32 << 10, PATIENCE_S = 2 };

/* Of Linux 5.14; this is what older headers lack. */
enum { GET_DEFAULT = 0x28, DEFAULT_BLOCKS = 1 };
struct defaults {
	uint8_t in, fwd, out;
};

static union addr addr_of(uint16_t family, const xfrm_address_t *x)
{
	union addr ret = {.sa.sa_family = (sa_family_t)family};

	if (family == AF_INET)
		memcpy(&ret.v4.sin_addr, &x->a4, sizeof(ret.v4.sin_addr));
	else
		memcpy(&ret.v6.sin6_addr, x->a6, sizeof(ret.v6.sin6_addr));
	return ret;
}

static bool is_any(const union addr *x)
{
	static const union addr none;

	return x->sa.sa_family == AF_INET
		       ? !x->v4.sin_addr.s_addr
		       : !memcmp(&x->v6.sin6_addr, &none.v6.sin6_addr, sizeof(none.v6.sin6_addr));
}

/* ---- what the kernel says ---- */
/* The first of its templates that has to be met. */
static void take_templates(struct xfrm_policy *p, const struct nlmsghdr *h)
{
	struct rtattr *at = (struct rtattr *)((char *)NLMSG_DATA(h) +
					      NLMSG_ALIGN(sizeof(struct xfrm_userpolicy_info)));
	int left = (int)h->nlmsg_len - (int)NLMSG_SPACE(sizeof(struct xfrm_userpolicy_info));
	struct xfrm_user_tmpl t;

	for (; RTA_OK(at, left); at = RTA_NEXT(at, left)) {
		if (at->rta_type == XFRMA_MARK || at->rta_type == XFRMA_IF_ID)
			p->proto = IPPROTO_RAW; /* not for what has neither */
		if (at->rta_type != XFRMA_TMPL)
			continue;
		for (size_t i = 0; (i + 1) * sizeof(t) <= RTA_PAYLOAD(at) && !p->asks_for; i++) {
			memcpy(&t, (char *)RTA_DATA(at) + i * sizeof(t), sizeof(t));
			if (t.optional)
				continue;
			p->asks_for = t.id.proto;
			p->key_from = addr_of(t.family, &t.saddr);
			p->key_to = addr_of(t.family, &t.id.daddr);
		}
	}
}

static void take_policy(struct xfrm *x, const struct nlmsghdr *h, struct arena *a)
{
	struct xfrm_userpolicy_info i; /* a copy: a message is aligned to 4 bytes only */
	const struct xfrm_selector *s = &i.sel;
	struct xfrm_policy p;

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(i)))
		return;
	memcpy(&i, NLMSG_DATA(h), sizeof(i));
	if ((i.dir != XFRM_POLICY_IN && i.dir != XFRM_POLICY_OUT) || s->sport_mask ||
	    s->dport_mask || s->ifindex || (s->family != AF_INET && s->family != AF_INET6))
		return;
	p = (struct xfrm_policy){.from = addr_of(s->family, &s->saddr),
				 .to = addr_of(s->family, &s->daddr),
				 .from_len = s->prefixlen_s,
				 .to_len = s->prefixlen_d,
				 .priority = i.priority,
				 .proto = s->proto,
				 .out = i.dir == XFRM_POLICY_OUT,
				 .blocks = i.action == XFRM_POLICY_BLOCK};
	take_templates(&p, h);
	*LIST_ADD(a, &x->policies) = p;
}

/* One without an index is but asked for. */
static void take_key(struct xfrm *x, const struct nlmsghdr *h, struct arena *a)
{
	struct xfrm_usersa_info i;

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(i)))
		return;
	memcpy(&i, NLMSG_DATA(h), sizeof(i));
	if (!i.id.spi)
		return;
	*LIST_ADD(a, &x->keys) = (struct xfrm_key){.from = addr_of(i.family, &i.saddr),
						   .to = addr_of(i.family, &i.id.daddr),
						   .proto = i.id.proto};
}

static void take_defaults(struct xfrm *x, const struct nlmsghdr *h)
{
	struct defaults d;

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(d)))
		return;
	memcpy(&d, NLMSG_DATA(h), sizeof(d));
	x->blocks_in = d.in == DEFAULT_BLOCKS;
	x->blocks_out = d.out == DEFAULT_BLOCKS;
}

bool xfrm_take(struct xfrm *x, const void *bytes, size_t n, struct arena *a, bool *ret_whole)
{
	const struct nlmsghdr *h = bytes;

	*ret_whole = false;
	for (size_t len; n >= sizeof(*h); n -= len, h = (const void *)((const char *)h + len)) {
		if (h->nlmsg_len < sizeof(*h) || h->nlmsg_len > n)
			return false;
		if (h->nlmsg_type == NLMSG_ERROR || h->nlmsg_flags & NLM_F_DUMP_INTR)
			return false;
		*ret_whole = h->nlmsg_type == NLMSG_DONE;
		if (*ret_whole)
			return false;
		if (h->nlmsg_type == XFRM_MSG_NEWPOLICY)
			take_policy(x, h, a);
		if (h->nlmsg_type == XFRM_MSG_NEWSA)
			take_key(x, h, a);
		if (h->nlmsg_type == GET_DEFAULT)
			take_defaults(x, h);
		len = NLMSG_ALIGN(h->nlmsg_len) < n ? NLMSG_ALIGN(h->nlmsg_len) : n;
	}
	return true;
}

static bool dump(int fd, uint16_t type, struct xfrm *x, struct arena *a)
{
	const struct nlmsghdr ask = {.nlmsg_len = NLMSG_LENGTH(0),
				     .nlmsg_type = type,
				     .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP};
	char *buffer = arena_alloc(a, BUFFER);
	bool whole = false;
	ssize_t got;

	if (send(fd, &ask, sizeof(ask), MSG_NOSIGNAL) < 0)
		return false;
	do {
		got = recv(fd, buffer, BUFFER, 0);
	} while ((got < 0 && errno == EINTR) ||
		 (got > 0 && xfrm_take(x, buffer, (size_t)got, a, &whole)));
	return whole;
}

/* An older kernel says that it is an error. */
static void ask_defaults(int fd, struct xfrm *x, struct arena *a)
{
	struct {
		struct nlmsghdr h;
		struct defaults d;
	} ask = {.h = {.nlmsg_len = NLMSG_LENGTH(sizeof(ask.d)),
		       .nlmsg_type = GET_DEFAULT,
		       .nlmsg_flags = NLM_F_REQUEST}};
	char *buffer = arena_alloc(a, BUFFER);
	bool whole;
	ssize_t got;

	if (send(fd, &ask, ask.h.nlmsg_len, MSG_NOSIGNAL) < 0)
		return;
	do {
		got = recv(fd, buffer, BUFFER, 0);
	} while (got < 0 && errno == EINTR);
	if (got > 0)
		(void)xfrm_take(x, buffer, (size_t)got, a, &whole);
}

void xfrm_read(struct xfrm *x, struct arena *a)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_XFRM);

	*x = (struct xfrm){0};
	if (fd < 0)
		return;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	/* a key that was not read is no key that is not there */
	if (!dump(fd, XFRM_MSG_GETPOLICY, x, a) ||
	    (x->policies.n && !dump(fd, XFRM_MSG_GETSA, x, a)))
		*x = (struct xfrm){0};
	else
		ask_defaults(fd, x, a);
	(void)close(fd);
}

/* ---- what it means ---- */
static bool has_key(const struct xfrm *x, const struct xfrm_policy *p, const union addr *from,
		    const union addr *to)
{
	const union addr *src = is_any(&p->key_from) ? from : &p->key_from,
			 *dst = is_any(&p->key_to) ? to : &p->key_to;

	for (size_t i = 0; i < x->keys.n; i++)
		if (x->keys.v[i].proto == p->asks_for && addr_equal(&x->keys.v[i].from, src) &&
		    addr_equal(&x->keys.v[i].to, dst))
			return true;
	return false;
}

/* What comes in on it is not asked for a policy (disable_policy), or what leaves by it not given to
 * one (disable_xfrm, IPv4's alone): set for it, or for all. */
static bool is_spared(const char *iface, bool out, int family)
{
	const char *which = out ? "disable_xfrm" : "disable_policy";
	const char *names[] = {"all", iface};
	AUTO(arena_done) struct arena a = {0};
	bool ret = false;

	if (out && family == AF_INET6)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(names) && !ret; i++)
		ret = names[i] && sysroot_int(&a, 0, "/proc/sys/net/ipv%d/conf/%s/%s",
					      family == AF_INET6 ? 6 : 4, names[i], which) > 0;
	return ret;
}

/* What leaves is stopped by it whatever is spared (as Linux 6.18 has it). */
static const struct xfrm_policy *by_default(const struct xfrm *x, bool out, const char *iface,
					    int family)
{
	static const struct xfrm_policy in = {.blocks = true, .is_default = true},
					out_ = {.blocks = true, .is_default = true, .out = true};

	if (out)
		return x->blocks_out ? &out_ : NULL;
	return x->blocks_in && !is_spared(iface, false, family) ? &in : NULL;
}

const struct xfrm_policy *xfrm_stops(const struct xfrm *x, bool out, const char *iface,
				     const union addr *from, const union addr *to)
{
	const struct xfrm_policy *best = NULL;
	bool stops;

	for (size_t i = 0; i < x->policies.n; i++) {
		const struct xfrm_policy *p = &x->policies.v[i];

		if (p->out == out && (!p->proto || p->proto == IPPROTO_TCP) &&
		    p->from.sa.sa_family == from->sa.sa_family &&
		    p->to.sa.sa_family == to->sa.sa_family &&
		    addr_in_subnet(from, &p->from, p->from_len) &&
		    addr_in_subnet(to, &p->to, p->to_len) &&
		    (!best || p->priority < best->priority))
			best = p;
	}
	stops = best && (best->blocks || (best->asks_for && !has_key(x, best, from, to)));
	if (stops && is_spared(iface, out, from->sa.sa_family))
		best = NULL; /* of what leaves so, the default still decides */
	else if (best)
		return stops ? best : NULL;
	return by_default(x, out, iface, from->sa.sa_family);
}

const char *xfrm_describe(const struct xfrm_policy *p, struct arena *a)
{
	struct addr_text from, to;

	if (p->is_default)
		return p->out ? "out" : "in";
	return arena_printf(a, "src %s/%u dst %s/%u%s dir %s", addr_print(&p->from, &from),
			    p->from_len, addr_print(&p->to, &to), p->to_len,
			    p->proto ? " proto tcp" : "", p->out ? "out" : "in");
}
