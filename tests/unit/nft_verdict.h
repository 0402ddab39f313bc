#ifndef TESTS_UNIT_NFT_VERDICT_H
#define TESTS_UNIT_NFT_VERDICT_H
/* What rules do to a first packet that comes in at eth0, however the rules were read. */
#include "probes/port/nft.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static inline struct nft_packet packet_from(const char *from, uint16_t port)
{
	struct nft_packet p = {.input = true, .iface = "eth0"};

	assert_int_equal(addr_parse(from, &p.from), 0);
	p.to = p.from;
	addr_set_port(&p.to, port);
	return p;
}

/* @describe NULL: not looked at. */
static inline void expect_verdict(const struct nft *n, const struct nft_packet *p, const char *what,
				  enum nft_verdict verdict, bool perhaps, const char *describe,
				  struct arena *a)
{
	struct nft_answer x = nft_judge(n, p);

	if (x.verdict != verdict || x.perhaps != perhaps)
		fail_msg("%s: %d%s", what, x.verdict, x.perhaps ? " perhaps" : "");
	if (describe)
		assert_string_equal(nft_describe(&x, a), describe);
}

#endif
