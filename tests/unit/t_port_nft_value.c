/* What a rule asks for of the first packet of a connection: what it has not, what is known of it in
 * part, several things at once; and whether what is not known is the same for all ports. */
#include "tests/unit/nft_rules.h"

static const struct nft_case cases[] = {
	{"no first packet has a routing header, nor is it a fragment",
	 INPUT("accept") RULE("3", IS("{'exthdr':{'name':'rt','field':'type'}}", "0") DROP) RULE(
		 "4", IS("{'exthdr':{'name':'frag'}}", "true") DROP)
		 RULE("5", NOT(MASKED("8191"), "0") DROP) RULE("6", NOT(MASKED("16383"), "0") DROP),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"as one without them",
	 INPUT("drop") RULE("3", IS("{'exthdr':{'name':'hbh'}}", "false") ACCEPT), "fd00::1", 1,
	 NFT_ACCEPT, false, NULL},
	{"it may have DF", INPUT("accept") RULE("3", NOT(MASKED("16384"), "0") DROP), "10.0.0.1", 1,
	 NFT_DROP, true, NULL},
	{"a tag is gone",
	 INPUT("accept") RULE("3", IS("{'payload':{'protocol':'vlan','field':'id'}}", "7") DROP),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"what the card carries",
	 INPUT("accept")
		 RULE("3", IS("{'payload':{'protocol':'ether','field':'type'}}", "'ip6'") DROP),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"from a high port, as connections are",
	 INPUT("drop") RULE("3", IS(SPORT, "{'range':[1024,65535]}") ACCEPT), "10.0.0.1", 1,
	 NFT_ACCEPT, false, NULL},
	{"from a low one",
	 INPUT("accept") RULE("3", IS(SPORT, "{'set':[22,{'range':[0,1023]}]}") DROP)
		 RULE("4", "{'match':{'op':'<','left':" SPORT ",'right':32768}}," DROP),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"which high one nobody knows",
	 INPUT("accept") RULE("3", IS(SPORT, "{'range':[40000,65535]}") DROP), "10.0.0.1", 1,
	 NFT_DROP, true, NULL},
	{"from where, to which port",
	 INPUT("drop") PAIRS("[{'concat':['10.1.0.1',5]},{'elem':{'val':{'concat':[{'prefix':{"
			     "'addr':'10.0.0.0','len':16}},{'range':[1024,65535]}]},'timeout':9}}]")
		 RULE("3", IS(PAIR, "'@pairs'") ACCEPT),
	 "10.0.0.1", 2000, NFT_ACCEPT, false, NULL},
	{"to another port",
	 INPUT("drop") PAIRS("[{'concat':['10.0.0.1',5]},{'concat':['10.0.0.2',6]}]")
		 RULE("3", IS(PAIR, "'@pairs'") ACCEPT),
	 "10.0.0.1", 6, NFT_DROP, false, "policy drop of inet t in"},
	{"of IPv6 no pair has an IPv4 address",
	 INPUT("accept") RULE("3", NOT(PAIR, "{'set':[{'concat':['10.0.0.1',5]}]}") DROP),
	 "fd00::1", 5, NFT_ACCEPT, false, NULL},
	{"a part that nobody knows",
	 INPUT("accept") RULE("3", IS("{'concat':[" META("mark") "," DPORT "]}",
				      "{'set':[{'concat':[1,5]},{'concat':[2,7]}]}") DROP),
	 "10.0.0.1", 5, NFT_DROP, true, NULL},
	{"and one that is not so",
	 INPUT("accept") RULE("3", IS("{'concat':[" META("mark") "," DPORT "]}",
				      "{'set':[{'concat':[1,5]},{'concat':[2,7]}]}") DROP),
	 "10.0.0.1", 6, NFT_ACCEPT, false, NULL},
	{"a rejection in the words of IPv6 is of IPv6 alone",
	 INPUT("accept") RULE("3", "{'reject':{'type':'icmpv6','expr':'port-unreachable'}}"),
	 "10.0.0.1", 5, NFT_ACCEPT, false, NULL},
	{"and there it is one",
	 INPUT("accept") RULE("3", "{'reject':{'type':'icmp','expr':'port-unreachable'}}")
		 RULE("4", "{'reject':{'type':'icmpv6','expr':'port-unreachable'}}"),
	 "fd00::1", 5, NFT_REJECT, false,
	 "inet t in, handle 4: reject with icmpv6 port-unreachable"},
	{"a count of connections, in its words",
	 INPUT("accept") RULE("3", "{'ct count':{'val':20,'inv':true}}," DROP), "10.0.0.1", 5,
	 NFT_DROP, true, "inet t in, handle 3: ct count over 20 drop"},
	{"what a socket is, what TCP may do, by which way",
	 INPUT("accept") RULE("3", IS("{'socket':{'key':'transparent'}}", "1") IS(
					   "{'tcp option':{'name':'maxseg','field':'size'}}", "536")
					   IS("{'fib':{'result':'oif','flags':['saddr','mark']}}",
					      "'eth1'") DROP),
	 "10.0.0.1", 5, NFT_DROP, true,
	 "inet t in, handle 3: socket transparent 1 tcp option maxseg size 536 fib saddr . mark "
	 "oif eth1 drop"},
	{"a pair in words",
	 INPUT("accept") RULE("3", NOT(PAIR, "{'set':[{'concat':['10.9.0.1',{'range':[5,6]}]}]}")
					   IS("{'exthdr':{'name':'frag'}}", "false") DROP),
	 "10.0.0.1", 5, NFT_DROP, false,
	 "inet t in, handle 3: ip saddr . tcp dport != { 10.9.0.1 . 5-6 } frag missing drop"},
	{"a map of pairs",
	 INPUT("accept") RULE("3", "{'vmap':{'key':" PAIR ",'data':{'set':[[{'concat':['10.0.0.1',"
				   "5]},{'drop':null}]]}}}"),
	 "10.0.0.1", 5, NFT_DROP, false, NULL},
};

static void verdicts(void **state)
{
	(void)state;
	expect_cases(cases, ARRAY_LEN(cases));
}

/* What only perhaps stops one port, would it stop the others as well? */
static void alike(void **state)
{
	static const struct {
		const char *rules;
		bool alike;
	} rows[] = {
		{INPUT("accept") RULE("3", "{'ct count':{'val':5000,'inv':true}}," DROP), true},
		{INPUT("accept") RULE("3", IS(META("skuid"), "7") DROP), true},
		{INPUT("drop") RULE("3", "{'ct count':{'val':5000}}," ACCEPT), true},
		/* our own few questions may be what is over it; by turns; by the port; whatever */
		{INPUT("accept") RULE("3", "{'ct count':{'val':5,'inv':true}}," DROP), false},
		{INPUT("accept") RULE("3", "{'limit':{'rate':1,'per':'second'}}," DROP), false},
		{INPUT("accept") RULE("3", IS("{'numgen':{'mode':'random','mod':10}}", "3") DROP),
		 false},
		{INPUT("accept") RULE("3", IS(META("mark"), "7") DROP), false},
		{INPUT("accept") RULE("3", "{'xt':null}," DROP), false},
		{INPUT("accept") RULE("3", "{'queue':null}"), false},
		{INPUT("accept") RULE("3", IS(META("skuid"), "7") "{'quota':{'val':9}}," DROP),
		 false},
		/* a limit that some other rule has is no matter, but where it leads here */
		{INPUT("accept") RULE("2", "{'limit':{'rate':1,'per':'second'}},{'log':null}")
			 RULE("3", IS(META("skuid"), "7") DROP),
		 true},
		{INPUT("accept") PLAIN("sub")
			 RULE("3", "{'limit':{'rate':1,'per':'second'}},{'jump':{'target':'sub'}}")
				 RULE_IN("sub", "4", DROP),
		 false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};
		AUTO(nft_done) struct nft n;
		struct nft_packet p = {.input = true};
		struct nft_answer x;

		rules_and_packet(rows[i].rules, &a, &n, &p);
		x = nft_judge(&n, &p);
		if (!x.perhaps || x.alike != rows[i].alike)
			fail_msg("%zu: %s%s", i, x.perhaps ? "perhaps" : "",
				 x.alike ? " alike" : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(verdicts), cmocka_unit_test(alike)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
