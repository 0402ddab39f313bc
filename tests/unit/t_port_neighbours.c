/* IPv6's questions for neighbours: which rules stop them, of whom they are, and what lets them
 * through. */
#include "probes/iface/facts.h"
#include "probes/port/local.h"
#include "tests/unit/composed.h"

#define MACHINE "link 2 eth0 pci=0000:01:00.0\naddr eth0 fd00:77::1/64\n"
#define ON_LINK "fd00:77::2"
#define BEHIND "fd00:88::2"
#define INPUT(policy, rules) "*filter\n:INPUT " policy " [0:0]\n" rules "COMMIT\n"
#define OF(type, more) "-A INPUT -p ipv6-icmp -m icmp6 --icmpv6-type " type more " -j ACCEPT\n"
#define HOPS " -m hl --hl-eq 255"

static const struct {
	const char *what, *rules, *peer;
	bool stopped;
} rows[] = {
	{"nothing", "", ON_LINK, false},
	{"all ICMPv6", INPUT("ACCEPT", "-A INPUT -p ipv6-icmp -j DROP\n"), ON_LINK, true},
	{"the way to a router, too", INPUT("ACCEPT", "-A INPUT -p ipv6-icmp -j DROP\n"), BEHIND,
	 true},
	{"no question is a connection's",
	 INPUT("DROP", "-A INPUT -m conntrack --ctstate NEW,RELATED,ESTABLISHED -j ACCEPT\n"),
	 ON_LINK, true},
	{"nor a bad one's", INPUT("ACCEPT", "-A INPUT -m conntrack --ctstate INVALID -j DROP\n"),
	 ON_LINK, false},
	{"as ufw has it",
	 INPUT("DROP",
	       OF("128", "") OF("133", HOPS) OF("134", HOPS) OF("135", HOPS) OF("136", HOPS)),
	 ON_LINK, false},
	{"questions of neighbours alone have their addresses",
	 INPUT("DROP", "-A INPUT -s fe80::/10 -p ipv6-icmp -j ACCEPT\n"), ON_LINK, true},
	{"a router asks by its link-local one",
	 INPUT("DROP", "-A INPUT -s fe80::/10 -p ipv6-icmp -j ACCEPT\n"), BEHIND, false},
	{"and not by the peer's",
	 INPUT("ACCEPT", "-A INPUT -s fd00:88::/64 -p ipv6-icmp -j DROP\n"), BEHIND, false},
	{"other ways out", "*filter\n:OUTPUT DROP [0:0]\n-A OUTPUT -o eth1 -j ACCEPT\nCOMMIT\n",
	 ON_LINK, true},
	{"this one", "*filter\n:OUTPUT DROP [0:0]\n-A OUTPUT -o eth0 -j ACCEPT\nCOMMIT\n", ON_LINK,
	 false},
};

static union addr parsed(const char *text)
{
	union addr x;

	assert_int_equal(addr_parse(text, &x), 0);
	return x;
}

static void what_stops_them(void **state UNUSED)
{
	const union addr mine = parsed("fd00:77::1");
	struct composed c;

	composed_load(&c, MACHINE);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct facts facts = {.inv = c.inv};
		struct local l = {.f = &facts, .fw = {.known = true, .nft = {.a = &c.a}}};
		const union addr peer = parsed(rows[i].peer);
		struct nft_answer x;

		nft_add_iptables(&l.fw.nft, "ip6", "ip6tables", true, rows[i].rules,
				 strlen(rows[i].rules));
		if (local_stops_neighbours(&l, &mine, &peer, &x) != rows[i].stopped)
			fail_msg("%s", rows[i].what);
		if (rows[i].stopped)
			assert_true(starts_with(firewall_fix_neighbours(&l.fw, &x, &c.a),
						"sudo ip6tables -I "));
		nft_done(&l.fw.nft);
	}
	composed_done(&c);
}

static void none_in_ipv4(void **state UNUSED)
{
	const union addr mine = parsed("10.0.0.1"), peer = parsed("10.0.0.2");
	const struct local l = {0};
	struct nft_answer x;

	assert_false(local_stops_neighbours(&l, &mine, &peer, &x));
}

static void in_the_words_of_whose_rule_it_is(void **state UNUSED)
{
	static const struct {
		const char *table, *chain, *fix;
	} of[] = {
		{"t", "in", "sudo nft insert rule inet t in meta l4proto ipv6-icmp accept"},
		{"firewalld", "filter_INPUT",
		 "sudo firewall-cmd --permanent --add-protocol=ipv6-icmp && sudo firewall-cmd "
		 "--reload"},
		{"firewalld", "filter_IN_drop",
		 "sudo firewall-cmd --permanent --zone=drop --add-protocol=ipv6-icmp && sudo "
		 "firewall-cmd --reload"},
		{"firewalld", "filter_OUT_policy_mine_deny",
		 "sudo firewall-cmd --permanent --policy=mine --add-protocol=ipv6-icmp && sudo "
		 "firewall-cmd --reload"},
		{"firewalld_policy_drop", "filter_input", "sudo firewall-cmd --panic-off"},
	};

	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		AUTO(arena_done) struct arena a = {0};
		const struct nft_chain c = {
			.family = "inet", .table = of[i].table, .name = of[i].chain};
		const struct nft_answer x = {.verdict = NFT_DROP, .chain = &c, .base = &c};
		const struct firewall fw = {.known = true};

		assert_string_equal(firewall_fix_neighbours(&fw, &x, &a), of[i].fix);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_stops_them),
					   cmocka_unit_test(none_in_ipv4),
					   cmocka_unit_test(in_the_words_of_whose_rule_it_is)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
