/* IPsec policies and keys: as the kernel sends them, cut, malformed; which of them stops a packet.
 */
#include "lib/net/xfrm.h"

#include "tests/unit/made_root.h"

#include <linux/rtnetlink.h>
#include <linux/xfrm.h>

enum { GET_DEFAULT = 0x28 }; /* XFRM_MSG_GETDEFAULT, which older headers lack */

struct sent {
	_Alignas(8) char bytes[4096];
	size_t n;
};

static void message(struct sent *s, uint16_t type, const void *data, size_t n)
{
	struct nlmsghdr *h = (struct nlmsghdr *)(s->bytes + s->n);

	h->nlmsg_type = type;
	h->nlmsg_len = (uint32_t)NLMSG_LENGTH(n);
	s->n += NLMSG_ALIGN(h->nlmsg_len);
	memcpy(NLMSG_DATA(h), data, n);
}

static uint32_t ip4(const char *text)
{
	union addr x;

	assert_int_equal(addr_parse(text, &x), 0);
	return x.v4.sin_addr.s_addr;
}

static struct xfrm_userpolicy_info policy(uint8_t action, uint32_t priority)
{
	return (struct xfrm_userpolicy_info){.sel = {.family = AF_INET,
						     .saddr.a4 = ip4("10.0.0.1"),
						     .daddr.a4 = ip4("10.0.0.0"),
						     .prefixlen_s = 32,
						     .prefixlen_d = 16},
					     .priority = priority,
					     .dir = XFRM_POLICY_OUT,
					     .action = action};
}

static void put(struct sent *s, struct xfrm_userpolicy_info i)
{
	message(s, XFRM_MSG_NEWPOLICY, &i, sizeof(i));
}

/* To the last message, which is at @from. */
static void attribute(struct sent *s, size_t from, uint16_t type, const void *data, size_t n)
{
	struct nlmsghdr *h = (struct nlmsghdr *)(s->bytes + from);
	struct rtattr *at = (struct rtattr *)(s->bytes + s->n);

	at->rta_type = type;
	at->rta_len = (unsigned short)RTA_LENGTH(n);
	memcpy(RTA_DATA(at), data, n);
	s->n += RTA_ALIGN(at->rta_len);
	h->nlmsg_len = (uint32_t)(s->n - from);
}

static void asks(struct sent *s, bool first_optional, uint16_t beside)
{
	struct xfrm_user_tmpl t[2] = {{.id.proto = IPPROTO_COMP, .optional = 1, .family = AF_INET},
				      {.id.proto = IPPROTO_ESP, .family = AF_INET}};
	uint32_t mark[2] = {7, 7};
	size_t from = s->n;

	put(s, policy(XFRM_POLICY_ALLOW, 10));
	if (beside)
		attribute(s, from, beside, mark, sizeof(mark));
	attribute(s, from, XFRMA_TMPL, first_optional ? t : t + 1,
		  first_optional ? sizeof(t) : sizeof(*t));
}

static void key(struct sent *s, const char *to, uint32_t spi)
{
	const struct xfrm_usersa_info i = {
		.family = AF_INET,
		.saddr.a4 = ip4("10.0.0.1"),
		.id = {.daddr.a4 = ip4(to), .proto = IPPROTO_ESP, .spi = spi}};

	message(s, XFRM_MSG_NEWSA, &i, sizeof(i));
}

static const char *stops(const struct sent *s, bool out, const char *to, struct arena *a)
{
	struct xfrm x = {0};
	const struct xfrm_policy *p;
	union addr from, there;
	bool whole;

	assert_true(xfrm_take(&x, s->bytes, s->n, a, &whole));
	assert_false(whole);
	assert_int_equal(addr_parse("10.0.0.1", &from), 0);
	assert_int_equal(addr_parse(to, &there), 0);
	p = xfrm_stops(&x, out, "eth0", &from, &there);
	return p ? xfrm_describe(p, a) : NULL;
}

static void keys(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct sent s = {0};

	(void)state;
	for (int optional = 0; optional < 2; optional++) {
		s = (struct sent){0};
		asks(&s, optional, 0);
		assert_string_equal(stops(&s, true, "10.0.0.2", &a),
				    "src 10.0.0.1/32 dst 10.0.0.0/16 dir out");
		assert_null(stops(&s, false, "10.0.0.2", &a));
		assert_null(stops(&s, true, "10.1.0.2", &a));
		key(&s, "10.0.0.2", 0); /* asked for */
		assert_non_null(stops(&s, true, "10.0.0.2", &a));
		key(&s, "10.0.0.2", 9);
		assert_null(stops(&s, true, "10.0.0.2", &a));
		assert_non_null(stops(&s, true, "10.0.0.3", &a));
	}
}

/* What is for a mark, an interface, a port or another protocol is not for these packets. */
static void special(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct xfrm_userpolicy_info p;
	struct sent s = {0};

	(void)state;
	asks(&s, false, XFRMA_MARK);
	asks(&s, false, XFRMA_IF_ID);
	p = policy(XFRM_POLICY_BLOCK, 1);
	p.sel.ifindex = 3;
	put(&s, p);
	p = policy(XFRM_POLICY_BLOCK, 1);
	p.sel.dport_mask = 0xffff;
	put(&s, p);
	p = policy(XFRM_POLICY_BLOCK, 1);
	p.sel.proto = IPPROTO_UDP;
	put(&s, p);
	p = policy(XFRM_POLICY_BLOCK, 1);
	p.sel.family = AF_UNSPEC;
	put(&s, p);
	p = policy(XFRM_POLICY_BLOCK, 1);
	p.dir = XFRM_POLICY_FWD;
	put(&s, p);
	assert_null(stops(&s, true, "10.0.0.2", &a));
	p = policy(XFRM_POLICY_BLOCK, 5);
	p.sel.proto = IPPROTO_TCP;
	put(&s, p);
	assert_string_equal(stops(&s, true, "10.0.0.2", &a),
			    "src 10.0.0.1/32 dst 10.0.0.0/16 proto tcp dir out");
	put(&s, policy(XFRM_POLICY_ALLOW, 4)); /* comes first */
	assert_null(stops(&s, true, "10.0.0.2", &a));
}

/* What has no policy is blocked where that is said; what has one that lets it pass is not. */
static void defaults(void **state)
{
	const uint8_t in_blocks[3] = {1, 2, 2}, out_blocks[3] = {2, 2, 1}, neither[3] = {2, 1, 2};
	AUTO(arena_done) struct arena a = {0};
	struct sent s = {0};

	(void)state;
	message(&s, GET_DEFAULT, in_blocks, 2); /* cut */
	message(&s, GET_DEFAULT, neither, sizeof(neither));
	assert_null(stops(&s, true, "10.0.0.2", &a));
	assert_null(stops(&s, false, "10.0.0.2", &a));
	s.n = 0;
	message(&s, GET_DEFAULT, in_blocks, sizeof(in_blocks));
	assert_string_equal(stops(&s, false, "10.0.0.2", &a), "in");
	assert_null(stops(&s, true, "10.0.0.2", &a));
	s.n = 0;
	message(&s, GET_DEFAULT, out_blocks, sizeof(out_blocks));
	assert_string_equal(stops(&s, true, "10.0.0.2", &a), "out");
	assert_null(stops(&s, false, "10.0.0.2", &a));
	put(&s, policy(XFRM_POLICY_ALLOW, 4));
	assert_null(stops(&s, true, "10.0.0.2", &a));
	assert_string_equal(stops(&s, true, "10.1.0.2", &a), "out");
}

/* As the kernel has it: disable_policy is for what comes in, disable_xfrm for what leaves by a
 * policy; a default blocks what leaves all the same. */
static void spared(void **state)
{
	static const struct {
		const char *set;
		bool in, out, default_in, default_out; /* it is stopped */
	} rows[] = {
		{"eth1/disable_policy", true, true, true, true},
		{"eth0/disable_policy", false, true, false, true},
		{"all/disable_policy", false, true, false, true},
		{"eth0/disable_xfrm", true, false, true, true},
		{"all/disable_xfrm", true, false, true, true},
	};
	AUTO(arena_done) struct arena a = {0};
	struct sent by_policy = {0}, by_default = {0};
	struct xfrm_userpolicy_info p = policy(XFRM_POLICY_BLOCK, 1);

	(void)state;
	put(&by_policy, p);
	p.dir = XFRM_POLICY_IN;
	put(&by_policy, p);
	message(&by_default, GET_DEFAULT, (uint8_t[]){1, 1, 1}, 3);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *path = arena_printf(&a, "/proc/sys/net/ipv4/conf/%s", rows[i].set);

		made_root_put(path, "1\n");
		assert_int_equal(stops(&by_policy, false, "10.0.0.2", &a) != NULL, rows[i].in);
		assert_int_equal(stops(&by_policy, true, "10.0.0.2", &a) != NULL, rows[i].out);
		assert_int_equal(stops(&by_default, false, "10.0.0.2", &a) != NULL,
				 rows[i].default_in);
		assert_int_equal(stops(&by_default, true, "10.0.0.2", &a) != NULL,
				 rows[i].default_out);
		made_root_put(path, "0\n");
	}
}

static void ends(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct xfrm x = {0};
	struct sent s = {0};
	struct nlmsghdr *last;
	bool whole;

	(void)state;
	asks(&s, true, XFRMA_MARK);
	for (size_t n = 0; n < s.n; n++) /* cut anywhere */
		(void)xfrm_take(&x, s.bytes, n, &a, &whole);
	assert_int_equal(x.policies.n, 0);
	for (size_t at = 0; at < s.n; at++) { /* any byte of it wrong */
		struct sent bad = s;

		bad.bytes[at] = (char)0xff;
		(void)xfrm_take(&x, bad.bytes, bad.n, &a, &whole);
	}
	last = (struct nlmsghdr *)(s.bytes + s.n);
	message(&s, NLMSG_DONE, &(int){0}, sizeof(int));
	assert_false(xfrm_take(&x, s.bytes, s.n, &a, &whole));
	assert_true(whole);
	last->nlmsg_flags = NLM_F_DUMP_INTR; /* it changed meanwhile: some may be missing */
	assert_false(xfrm_take(&x, s.bytes, s.n, &a, &whole));
	assert_false(whole);
	last->nlmsg_type = NLMSG_ERROR;
	assert_false(xfrm_take(&x, s.bytes, s.n, &a, &whole));
	assert_false(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys),
		cmocka_unit_test(special),
		cmocka_unit_test(defaults),
		cmocka_unit_test_setup_teardown(spared, made_root, made_root_remove),
		cmocka_unit_test(ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
