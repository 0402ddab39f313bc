/* What a ruleset does to a packet; the rules as `nft -j` 1.0.6 writes them, with ' for ". */
#include "probes/port/firewall.h"
#include "tests/unit/nft_rules.h"

static const struct nft_case cases[] = {
	{"nothing", "", "10.0.0.1", 1, NFT_ACCEPT, false, "no rule"},
	{"a policy", INPUT("drop"), "10.0.0.1", 1, NFT_DROP, false, "policy drop of inet t in"},
	{"a port", INPUT("accept") RULE("3", IS(DPORT, "29501") DROP), "10.0.0.1", 29501, NFT_DROP,
	 false, "inet t in, handle 3: tcp dport 29501 drop"},
	{"another port", INPUT("accept") RULE("3", IS(DPORT, "29501") DROP), "10.0.0.1", 29502,
	 NFT_ACCEPT, false, NULL},
	{"a quota may be used up", INPUT("accept") RULE("3", "{'quota':{'val':9}}," DROP),
	 "10.0.0.1", 1, NFT_DROP, true, "inet t in, handle 3: quota drop"},
	{"how often each may",
	 INPUT("accept")
		 RULE("3", EACH("[{'counter':null},{'limit':{'rate':1,'per':'second'}}]") DROP),
	 "10.0.0.1", 1, NFT_DROP, true, NULL},
	{"as older nft writes it",
	 INPUT("accept") RULE("3", EACH("{'limit':{'rate':1,'per':'second'}}") DROP), "10.0.0.1", 1,
	 NFT_DROP, true, "inet t in, handle 3: add @s { ip saddr limit ... } drop"},
	{"each counted, and dropped", INPUT("accept") RULE("3", EACH("[{'counter':null}]") DROP),
	 "10.0.0.1", 1, NFT_DROP, false, "inet t in, handle 3: add @s { ip saddr } drop"},
	{"not to be tracked: then it has no state but that",
	 CHAIN("raw", "prerouting", "-300", "accept") RULE_IN("raw", "2", "{'notrack':null}")
		 INPUT("accept") RULE("3", IN(STATE, "'untracked'") DROP),
	 "10.0.0.1", 1, NFT_DROP, false, NULL},
	{"tracked", INPUT("accept") RULE("3", IN(STATE, "'untracked'") DROP), "10.0.0.1", 1,
	 NFT_ACCEPT, false, NULL},
	{"reject", INPUT("accept") RULE("3", REJECT), "10.0.0.1", 1, NFT_REJECT, false,
	 "inet t in, handle 3: reject with icmpx port-unreachable"},
	{"a set of ports in place",
	 INPUT("accept") RULE("3", IS(DPORT, "{'set':[{'range':[30000,30010]},31000]}") DROP),
	 "10.0.0.1", 30005, NFT_DROP, false,
	 "inet t in, handle 3: tcp dport { 30000-30010, 31000 } drop"},
	{"a named set",
	 INPUT("drop") "{'set':{'family':'inet','name':'self','table':'t','elem':['10.0.0.1',"
		       "{'prefix':{'addr':'10.1.0.0','len':16}},{'elem':{'val':'10.2.0.1',"
		       "'timeout':5}}]}}," RULE("3", IS(SADDR, "'@self'") ACCEPT),
	 "10.1.7.7", 1, NFT_ACCEPT, false, NULL},
	{"an element with a timeout",
	 INPUT("drop") "{'set':{'family':'inet','name':'self','table':'t','elem':[{'elem':{'val':"
		       "'10.2.0.1','timeout':5}}]}}," RULE("3", IS(SADDR, "'@self'") ACCEPT),
	 "10.2.0.1", 1, NFT_ACCEPT, false, NULL},
	{"not in the set",
	 INPUT("drop") "{'set':{'family':'inet','name':'self','table':'t','elem':['10.0.0.1']}}"
		       "," RULE("3", IS(SADDR, "'@self'") ACCEPT),
	 "10.0.0.3", 1, NFT_DROP, false, NULL},
	{"an empty set lets nobody in",
	 INPUT("drop") "{'set':{'family':'inet','name':'self','table':'t'}}," RULE(
		 "3", IS(SADDR, "'@self'") ACCEPT),
	 "10.0.0.3", 1, NFT_DROP, false, NULL},
	{"a prefix, denied",
	 INPUT("accept") RULE("3", NOT(SADDR, "{'prefix':{'addr':'10.0.0.0','len':24}}") DROP),
	 "10.0.1.1", 1, NFT_DROP, false, "inet t in, handle 3: ip saddr != 10.0.0.0/24 drop"},
	{"no IPv4 address to deny in an IPv6 packet",
	 INPUT("accept") RULE("3", NOT(SADDR, "'10.0.0.1'") DROP), "fd00::1", 1, NFT_ACCEPT, false,
	 NULL},
	{"IPv6", INPUT("accept") RULE("3", IS(SADDR6, "{'prefix':{'addr':'fd00::','len':8}}") DROP),
	 "fd00::1", 1, NFT_DROP, false, NULL},
	{"a first packet is new",
	 INPUT("drop") RULE("3", IN(STATE, "['established','related']") ACCEPT)
		 RULE("4", IN(STATE, "['new','untracked']") IS(DPORT, "5") ACCEPT),
	 "10.0.0.1", 5, NFT_ACCEPT, false, NULL},
	{"by interface", INPUT("drop") RULE("3", IS(META("iifname"), "'eth*'") ACCEPT), "10.0.0.1",
	 1, NFT_ACCEPT, false, NULL},
	{"loopback only", INPUT("drop") RULE("3", IS(META("iif"), "'lo'") ACCEPT), "10.0.0.1", 1,
	 NFT_DROP, false, NULL},
	{"by protocol", INPUT("accept") RULE("3", IS(META("l4proto"), "'udp'") DROP), "10.0.0.1", 1,
	 NFT_ACCEPT, false, NULL},
	{"by a protocol's number, as without /etc/protocols",
	 INPUT("accept") RULE("3", IS(META("l4proto"), "6") DROP), "10.0.0.1", 1, NFT_DROP, false,
	 NULL},
	{"by another protocol's number",
	 INPUT("accept") RULE("3", IS("{'payload':{'protocol':'ip','field':'protocol'}}",
				      "{'set':[1,17]}") DROP),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"not a protocol's number",
	 INPUT("accept") RULE("3", NOT(META("l4proto"), "{'range':[7,17]}") DROP), "10.0.0.1", 1,
	 NFT_DROP, false, NULL},
	{"greater than",
	 INPUT("accept") RULE("3", "{'match':{'op':'>','left':" DPORT ",'right':32767}}," DROP),
	 "10.0.0.1", 32768, NFT_DROP, false, "inet t in, handle 3: tcp dport > 32767 drop"},
	{"a jump that returns",
	 INPUT("drop") PLAIN("sub") RULE("3", "{'jump':{'target':'sub'}}") RULE("4", ACCEPT)
		 RULE_IN("sub", "5", IS(DPORT, "1") "{'return':null}") RULE_IN("sub", "6", DROP),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"a jump that decides",
	 INPUT("accept") PLAIN("sub") RULE("3", "{'jump':{'target':'sub'}}") RULE("4", ACCEPT)
		 RULE_IN("sub", "6", DROP),
	 "10.0.0.1", 1, NFT_DROP, false, "inet t sub, handle 6: drop"},
	{"a goto does not come back",
	 INPUT("drop") PLAIN("sub") RULE("3", "{'goto':{'target':'sub'}}") RULE("4", ACCEPT),
	 "10.0.0.1", 1, NFT_DROP, false, "policy drop of inet t in"},
	{"chains that jump in circles end",
	 INPUT("accept") PLAIN("a") RULE("3", "{'jump':{'target':'a'}}")
		 RULE_IN("a", "4", "{'jump':{'target':'a'}}"),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"a verdict map",
	 INPUT("accept") PLAIN("sub") RULE("3", "{'vmap':{'key':" DPORT ",'data':{'set':[[22,"
						"{'accept':null}],[{'range':[30000,40000]},{'jump':"
						"{'target':'sub'}}]]}}}") RULE_IN("sub", "4", DROP),
	 "10.0.0.1", 35000, NFT_DROP, false, NULL},
	{"a later base chain may still drop what one accepted",
	 INPUT("accept") CHAIN("late", "input", "10", "drop") RULE("3", ACCEPT), "10.0.0.1", 1,
	 NFT_DROP, false, "policy drop of inet t late"},
	{"priority, not order of the list",
	 CHAIN("late", "input", "10", "drop") INPUT("accept") RULE("3", DROP), "10.0.0.1", 1,
	 NFT_DROP, false, "inet t in, handle 3: drop"},
	{"of equal priority, the last one made is first",
	 INPUT("drop") CHAIN("also", "input", "0", "accept") RULE_IN("also", "4", REJECT),
	 "10.0.0.1", 1, NFT_REJECT, false,
	 "inet t also, handle 4: reject with icmpx port-unreachable"},
	{"the other hook", CHAIN("in", "output", "0", "drop"), "10.0.0.1", 1, NFT_ACCEPT, false,
	 NULL},
	{"before it is routed",
	 CHAIN("in", "prerouting", "-300", "accept") RULE("3", IS(DPORT, "5") DROP), "10.0.0.1", 5,
	 NFT_DROP, false, "inet t in, handle 3: tcp dport 5 drop"},
	{"what one hook accepts the next may drop",
	 CHAIN("early", "prerouting", "0", "accept") INPUT("drop") RULE_IN("early", "3", ACCEPT),
	 "10.0.0.1", 5, NFT_DROP, false, "policy drop of inet t in"},
	{"a reverse-path filter in rules: peers have a way back",
	 CHAIN("in", "prerouting", "10", "accept")
		 RULE("3", IS("{'fib':{'result':'oif','flags':['saddr','iif']}}", "false") DROP),
	 "10.0.0.1", 5, NFT_ACCEPT, false, NULL},
	{"at the card",
	 "{'chain':{'family':'inet','table':'t','name':'in','handle':1,'type':'filter','dev':["
	 "'eth1','eth0'],'hook':'ingress','prio':0,'policy':'accept'}}," RULE("3",
									      IS(DPORT, "5") DROP),
	 "10.0.0.1", 5, NFT_DROP, false, "inet t in, handle 3: tcp dport 5 drop"},
	{"at another card",
	 "{'chain':{'family':'inet','table':'t','name':'in','handle':1,'type':'filter','dev':"
	 "'eth1','hook':'ingress','prio':0,'policy':'drop'}},",
	 "10.0.0.1", 5, NFT_ACCEPT, false, NULL},
	{"a first packet has SYN", INPUT("accept") RULE("3", IN(FLAGS, "'syn'") DROP), "10.0.0.1",
	 5, NFT_DROP, false, "inet t in, handle 3: tcp flags syn drop"},
	{"and nothing else",
	 INPUT("accept") RULE("3", IS("{'&':[" FLAGS ",['fin','syn','rst','ack']]}", "'syn'") DROP),
	 "10.0.0.1", 5, NFT_DROP, false,
	 "inet t in, handle 3: tcp flags & (fin, syn, rst, ack) syn drop"},
	{"what is no first packet and claims to be new",
	 INPUT("accept") RULE("3", NOT("{'&':[" FLAGS ",{'|':['fin','syn','rst','ack']}]}", "'syn'")
					   IN(STATE, "'new'") DROP),
	 "10.0.0.1", 5, NFT_ACCEPT, false, NULL},
	{"flags as nft 1.1 has them",
	 INPUT("accept")
		 RULE("3", IS("{'&':[" FLAGS ",{'|':['syn','rst']}]}", "{'|':['syn']}") DROP),
	 "10.0.0.1", 5, NFT_DROP, false, "inet t in, handle 3: tcp flags & (syn, rst) syn drop"},
	{"flags that are no names", INPUT("accept") RULE("3", IS(FLAGS, "{'x':1}") DROP),
	 "10.0.0.1", 5, NFT_DROP, true, NULL},
	{"nobody sends it elsewhere",
	 INPUT("drop") RULE("3", IN("{'ct':{'key':'status'}}", "'dnat'") ACCEPT), "10.0.0.1", 5,
	 NFT_DROP, false, "policy drop of inet t in"},
	{"somebody does",
	 INPUT("drop") PLAIN("nat") RULE("3", IN("{'ct':{'key':'status'}}", "'dnat'") ACCEPT)
		 RULE_IN("nat", "4", "{'dnat':{'addr':'10.9.9.9'}}"),
	 "10.0.0.1", 5, NFT_DROP, true, NULL},
	{"what comes in is for one of our addresses",
	 INPUT("drop")
		 RULE("3", IS("{'fib':{'result':'type','flags':['daddr']}}", "'local'") ACCEPT),
	 "10.0.0.1", 5, NFT_ACCEPT, false, NULL},
	{"and from none",
	 INPUT("accept")
		 RULE("3", IS("{'fib':{'result':'type','flags':['saddr']}}", "'local'") DROP),
	 "10.0.0.1", 5, NFT_ACCEPT, false, NULL},
	{"before connections are told apart",
	 CHAIN("in", "prerouting", "-300", "accept") RULE("3", IN(STATE, "'new'") DROP), "10.0.0.1",
	 5, NFT_ACCEPT, false, NULL},
	{"a mark is not known here", INPUT("accept") RULE("3", IS(META("mark"), "7") DROP),
	 "10.0.0.1", 1, NFT_DROP, true, NULL},
	{"an iptables match is not known here", INPUT("accept") RULE("3", "{'xt':null}," DROP),
	 "10.0.0.1", 1, NFT_DROP, true, NULL},
	{"perhaps accepted, else dropped", INPUT("drop") RULE("3", IS(META("mark"), "7") ACCEPT),
	 "10.0.0.1", 1, NFT_DROP, true, NULL},
	{"perhaps accepted, and perhaps dropped before it is dropped",
	 INPUT("drop") RULE("3", IS(META("mark"), "7") ACCEPT)
		 RULE("4", IS(META("mark"), "8") DROP),
	 "10.0.0.1", 1, NFT_DROP, true, "policy drop of inet t in"},
	{"what perhaps returns is perhaps not dropped",
	 INPUT("accept") PLAIN("sub") RULE("3", "{'jump':{'target':'sub'}}") RULE_IN(
		 "sub", "4", IS(META("mark"), "7") "{'return':null}") RULE_IN("sub", "5", DROP),
	 "10.0.0.1", 1, NFT_DROP, true, "inet t sub, handle 5: drop"},
	{"but after it the policy is sure",
	 INPUT("drop") RULE("3", IS(META("mark"), "7") "{'return':null}") RULE("4", DROP),
	 "10.0.0.1", 1, NFT_DROP, false, "policy drop of inet t in"},
	{"what perhaps goes elsewhere does not come back",
	 INPUT("accept") PLAIN("sub") RULE("3", IS(META("mark"), "7") "{'goto':{'target':'sub'}}")
		 RULE("4", DROP),
	 "10.0.0.1", 1, NFT_DROP, true, "inet t in, handle 4: drop"},
	{"what a program may accept", INPUT("drop") RULE("3", "{'queue':null}"), "10.0.0.1", 1,
	 NFT_DROP, true, "policy drop of inet t in"},
	{"accepted by an early chain, perhaps: the late one drops it all the same",
	 CHAIN("early", "prerouting", "0", "accept") INPUT("drop")
		 RULE_IN("early", "3", IS(META("mark"), "7") ACCEPT),
	 "10.0.0.1", 5, NFT_DROP, false, "policy drop of inet t in"},
	{"flags as older nft nests them",
	 INPUT("accept")
		 RULE("3", IS("{'&':[" FLAGS ",{'|':[{'|':[{'|':[{'|':[{'|':['fin','syn']},'rst']},"
			      "'psh']},'ack']},'urg']}]}",
			      "{'|':[{'|':['fin','psh']},'urg']}") DROP),
	 "10.0.0.1", 5, NFT_ACCEPT, false, NULL},
	{"perhaps accepted or accepted", INPUT("accept") RULE("3", IS(META("mark"), "7") ACCEPT),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
};

static void verdicts(void **state)
{
	(void)state;
	expect_cases(cases, ARRAY_LEN(cases));
}

/* Each base chain for itself, the card's too. */
static void all_that_stop(void **state)
{
	static const char rules[] =
		CHAIN("a", "input", "0", "accept") CHAIN("b", "input", "5", "drop")
			CHAIN("c", "input", "9", "accept") CHAIN("p", "prerouting", "0", "accept")
				RULE_IN("a", "3", IS(DPORT, "5") DROP)
					RULE_IN("b", "4", IS(DPORT, "6") ACCEPT)
						RULE_IN("p", "5", IS(DPORT, "5") REJECT);
	static const char card[] =
		"{'chain':{'family':'netdev','table':'t','name':'i','handle':1,'type':'filter',"
		"'dev':'eth0','hook':'ingress','prio':0,'policy':'accept'}},"
		"{'rule':{'family':'netdev','table':'t','chain':'i','handle':2,'expr':[" DROP
		"]}},";
	AUTO(arena_done) struct arena a = {0};
	AUTO(nft_done) struct nft n, at_card;
	struct nft_packet p = {.input = true};
	struct nft_answer x[4];

	(void)state;
	rules_and_packet(rules, &a, &n, &p);
	assert_int_equal(nft_judge_all(&n, &p, x, 4), 3);
	assert_string_equal(x[0].chain->name, "p");
	assert_string_equal(x[1].chain->name, "a");
	assert_string_equal(x[2].chain->name, "b");
	assert_int_equal(nft_judge_all(&n, &p, x, 1), 1);
	addr_set_port(&p.to, 6);
	assert_int_equal(nft_judge_all(&n, &p, x, 4), 0);

	parse(card, &a, &at_card);
	p.iface = "eth0";
	assert_int_equal(nft_judge_all(&at_card, &p, x, 4), 1);
	assert_string_equal(nft_describe(&x[0], &a), "netdev t i, handle 2: drop");
	p.iface = "eth1";
	assert_int_equal(nft_judge_all(&at_card, &p, x, 4), 0);
}

/* What is sent elsewhere does not arrive: said where nothing else stops it. */
static void sent_elsewhere(void **state)
{
	static const char rules[] =
		"{'chain':{'family':'inet','table':'t','name':'n','handle':1,'type':'nat',"
		"'hook':'prerouting','prio':-100,'policy':'accept'}}," RULE_IN(
			"n", "2",
			IS(DPORT, "5") "{'dnat':{'family':'ip','addr':'10.9.9.9','port':7}}");
	AUTO(arena_done) struct arena a = {0};
	AUTO(nft_done) struct nft n;
	struct nft_packet p = {.input = true};
	struct nft_answer x[4];

	(void)state;
	rules_and_packet(rules, &a, &n, &p);
	assert_int_equal(nft_judge(&n, &p).verdict, NFT_ACCEPT); /* no rule drops it */
	assert_int_equal(nft_judge_all(&n, &p, x, 4), 1);
	assert_string_equal(nft_describe(&x[0], &a),
			    "inet t n, handle 2: tcp dport 5 dnat to 10.9.9.9:7");
	p.answer = true; /* goes back the way it came */
	assert_int_equal(nft_judge_all(&n, &p, x, 4), 0);
	p.answer = false;
	addr_set_port(&p.to, 6);
	assert_int_equal(nft_judge_all(&n, &p, x, 4), 0);
}

/* The second packet of a connection, which its asker's input rules see. */
static void answers(void **state)
{
	static const struct {
		const char *rules;
		enum nft_verdict question, answer;
	} rows[] = {
		{INPUT("drop") RULE("3", IN(STATE, "['established','related']") ACCEPT), NFT_DROP,
		 NFT_ACCEPT},
		{INPUT("accept") RULE("3", IS(DPORT, "{'range':[32768,60999]}") DROP), NFT_DROP,
		 NFT_DROP},
		{INPUT("accept")
			 RULE("3", IN(STATE, "'new'") IS(DPORT, "{'range':[32768,60999]}") DROP),
		 NFT_DROP, NFT_ACCEPT},
		{INPUT("accept") RULE("3", IS("{'ct':{'key':'direction'}}", "'reply'") DROP),
		 NFT_ACCEPT, NFT_DROP},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};
		AUTO(nft_done) struct nft n;
		struct nft_packet p = {.input = true};
		const char *json = quoted(&a, rows[i].rules);
		struct err e = {0};

		assert_int_equal(nft_parse(json, strlen(json), &a, &n, &e), 0);
		assert_int_equal(addr_parse("10.0.0.1", &p.from), 0);
		p.to = p.from;
		addr_set_port(&p.to, 40000);
		assert_int_equal(nft_judge(&n, &p).verdict, rows[i].question);
		p.answer = true;
		assert_int_equal(nft_judge(&n, &p).verdict, rows[i].answer);
	}
}

/* A source that firewalld has in some zone already stays there; firewalld 2.5's names of chains. */
static void firewallds_zones(void **state)
{
#define AT(chain, handle, expr)                                                                    \
	"{'rule':{'family':'inet','table':'firewalld','chain':'" chain "','handle':" handle        \
	",'expr':[" expr "]}},"
#define NAMED(name) "{'chain':{'family':'inet','table':'firewalld','name':'" name "'}},"
	static const char rules[] =
		"{'chain':{'family':'inet','table':'firewalld','name':'filter_INPUT','handle':1,"
		"'type':'filter','hook':'input','prio':10,'policy':'accept'}}," NAMED(
			"filter_INPUT_dispatch") NAMED("filter_IN_internal_to_HOST")
			AT("filter_INPUT", "2", "{'jump':{'target':'filter_INPUT_dispatch'}}") AT(
				"filter_INPUT_dispatch", "3",
				IS(SADDR,
				   "{'prefix':{'addr':'10.0.0.0','len':24}}") "{"
									      "'jump':{'target':'"
									      "filter_IN_internal_"
									      "to_HOST'}}")
				AT("filter_IN_internal_to_HOST", "4", REJECT);
	AUTO(arena_done) struct arena a = {0};
	struct firewall fw = {.known = true, .manager = "firewalld"};
	struct nft_packet p = {.input = true};
	struct nft_answer x;

	(void)state;
	rules_and_packet(rules, &a, &fw.nft, &p);
	x = nft_judge(&fw.nft, &p);
	assert_int_equal(x.verdict, NFT_REJECT);
	assert_string_equal(firewall_fix(&fw, &x, "10.0.0.0/24", &a),
			    "sudo firewall-cmd --permanent --zone=internal --add-rich-rule='rule "
			    "priority=\"-32768\" family=\"ipv4\" source address=\"10.0.0.0/24\" "
			    "accept' && sudo "
			    "firewall-cmd --reload");
	firewall_done(&fw);
}

static void junk(void **state)
{
	static const char *const bad[] = {"", "{", "[]", "{\"nftables\":5}", "null", "Error: no"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(arena_done) struct arena a = {0};
		AUTO(nft_done) struct nft n;
		struct err e = {0};

		assert_int_equal(nft_parse(bad[i], strlen(bad[i]), &a, &n, &e), -1);
		assert_int_equal(e.kind, ERR_SYS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts),	    cmocka_unit_test(sent_elsewhere),
		cmocka_unit_test(answers),	    cmocka_unit_test(all_that_stop),
		cmocka_unit_test(firewallds_zones), cmocka_unit_test(junk)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
