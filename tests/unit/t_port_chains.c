/* A node of a large Kubernetes cluster: chains by the ten thousand, whose rules stand anywhere. */
#include "tests/unit/nft_verdict.h"

#include "lib/core/text.h"
#include "lib/core/units.h"

enum { SERVICES = 10000, PATIENCE_S = 10 };

/* Every service has a chain; the rules of all of them come behind, the last chain's first. */
static void nft_words(struct text *t)
{
	text_add(t, "{\"nftables\":[{\"chain\":{\"family\":\"ip\",\"table\":\"t\",\"name\":\"in\","
		    "\"type\":\"filter\",\"hook\":\"input\",\"prio\":0,\"policy\":\"accept\"}}");
	for (int i = 0; i < SERVICES; i++)
		text_addf(t, ",{\"chain\":{\"family\":\"ip\",\"table\":\"t\",\"name\":\"SVC-%d\"}}",
			  i);
	for (int i = SERVICES; i-- > 0;)
		text_addf(t,
			  ",{\"rule\":{\"family\":\"ip\",\"table\":\"t\",\"chain\":\"SVC-%d\","
			  "\"handle\":%d,\"expr\":[{\"return\":null}]}}"
			  ",{\"rule\":{\"family\":\"ip\",\"table\":\"t\",\"chain\":\"SVC-%d\","
			  "\"handle\":%d,\"expr\":[{\"drop\":null}]}}",
			  i, 2 * i + 1, i, 2 * i + 2);
	text_add(t,
		 ",{\"rule\":{\"family\":\"ip\",\"table\":\"t\",\"chain\":\"in\",\"handle\":99999,"
		 "\"expr\":[{\"goto\":{\"target\":\"SVC-7\"}}]}}]}");
}

static void iptables_words(struct text *t)
{
	text_add(t, "*filter\n:INPUT ACCEPT [0:0]\n");
	for (int i = 0; i < SERVICES; i++)
		text_addf(t, ":SVC-%d - [0:0]\n", i);
	for (int i = SERVICES; i-- > 0;)
		text_addf(t, "-A SVC-%d -s 10.0.0.9/32 -j RETURN\n-A SVC-%d -j DROP\n", i, i);
	text_add(t, "-A INPUT -j SVC-7\nCOMMIT\n");
}

static void read_both(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(nft_done) struct nft n;
	uint64_t began = now_ns();
	struct text nft, iptables;
	struct nft_packet p;
	struct err e;

	(void)state;
	text_init(&nft, &a);
	nft_words(&nft);
	text_init(&iptables, &a);
	iptables_words(&iptables);
	assert_int_equal(nft_parse(nft.s, nft.n, &a, &n, &e), 0);
	assert_int_equal(n.chains.n, SERVICES + 1);
	assert_int_equal(n.rules.n, 2 * SERVICES + 1);
	assert_int_equal(n.chains.v[1 + 7].nrules, 2);
	assert_int_equal(n.rules.v[n.chains.v[1 + 7].first_rule].handle, 2 * 7 + 1);
	assert_ptr_equal(n.rules.v[n.chains.v[1 + 7].first_rule].chain, &n.chains.v[1 + 7]);
	nft_add_iptables(&n, "ip", "iptables", true, iptables.s, iptables.n);
	assert_int_equal(n.rules.n, 4 * SERVICES + 2);
	p = packet_from("10.0.0.1", 40000);
	expect_verdict(&n, &p, "its chain", NFT_DROP, false, "iptables: -A SVC-7 -j DROP", &a);
	p = packet_from("10.0.0.9", 40000);
	expect_verdict(&n, &p, "who may", NFT_ACCEPT, false, NULL, &a);
	/* each name looked for among all took minutes */
	assert_true(now_ns() - began < PATIENCE_S * NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(read_both)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
