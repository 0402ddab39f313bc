/* iptables-save's words as rules among nftables' own: what packets meet, whose words are quoted,
 * and what is typed against it. */
#include "probes/port/firewall.h"
#include "tests/unit/nft_verdict.h"

#define FILTER(policy, rules) "# made by\n*filter\n:INPUT " policy " [0:0]\n" rules "COMMIT\n"
#define NAT                                                                                        \
	"*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p tcp -m tcp --dport 80 -j DNAT "          \
	"--to-destination 10.0.0.9:80\nCOMMIT\n"
#define DNAT "-A INPUT -m conntrack --ctstate DNAT"
#define NO_DNAT "-A INPUT -m conntrack ! --ctstate DNAT"
#define SUB ":sub - [0:0]\n"

static const struct {
	const char *what, *text;
	const char *from;
	uint16_t port;
	enum nft_verdict verdict;
	bool perhaps;
	const char *describe; /* NULL: not looked at */
} cases[] = {
	{"a policy", FILTER("DROP", ""), "10.0.0.1", 1, NFT_DROP, false, "iptables: -P INPUT DROP"},
	{"the nat table decides nothing", "*nat\n:INPUT DROP [0:0]\nCOMMIT\n", "10.0.0.1", 1,
	 NFT_ACCEPT, false, NULL},
	{"a source", FILTER("ACCEPT", "-A INPUT -s 10.0.0.1/32 -j DROP\n"), "10.0.0.1", 1, NFT_DROP,
	 false, "iptables: -A INPUT -s 10.0.0.1/32 -j DROP"},
	{"another source", FILTER("ACCEPT", "-A INPUT -s 10.0.0.0/24 -j REJECT\n"), "10.0.1.1", 1,
	 NFT_ACCEPT, false, NULL},
	{"not a source", FILTER("ACCEPT", "-A INPUT ! -s 10.0.0.0/24 -j REJECT\n"), "10.0.1.1", 1,
	 NFT_REJECT, false, NULL},
	{"a port of tcp", FILTER("DROP", "-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT\n"),
	 "10.0.0.1", 22, NFT_ACCEPT, false, NULL},
	{"a port of udp", FILTER("DROP", "-A INPUT -p udp -m udp --dport 22 -j ACCEPT\n"),
	 "10.0.0.1", 22, NFT_DROP, false, NULL},
	{"a range", FILTER("DROP", "-A INPUT -p tcp -m tcp --dport 20:30 -j ACCEPT\n"), "10.0.0.1",
	 30, NFT_ACCEPT, false, NULL},
	{"many ports",
	 FILTER("DROP", "-A INPUT -p tcp -m multiport --dports 80,443,1000:2000 -j ACCEPT\n"),
	 "10.0.0.1", 1500, NFT_ACCEPT, false, NULL},
	{"none of them",
	 FILTER("ACCEPT", "-A INPUT -p tcp -m multiport ! --dports 80,443 -j DROP\n"), "10.0.0.1",
	 444, NFT_DROP, false, NULL},
	{"a first packet is new",
	 FILTER("DROP", "-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n"
			"-A INPUT -m conntrack --ctstate INVALID -j REJECT\n"),
	 "10.0.0.1", 1, NFT_DROP, false, "iptables: -P INPUT DROP"},
	{"sent elsewhere counts as a state: nothing is", /* libvirt's, Docker's */
	 FILTER("DROP", "-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED,DNAT -j ACCEPT\n"),
	 "10.0.0.1", 1, NFT_DROP, false, "iptables: -P INPUT DROP"},
	{"perhaps it is sent elsewhere", NAT FILTER("DROP", DNAT " -j ACCEPT\n"), "10.0.0.1", 1,
	 NFT_DROP, true, "iptables: -P INPUT DROP"},
	{"perhaps it is not", NAT FILTER("ACCEPT", NO_DNAT " -j DROP\n"), "10.0.0.1", 1, NFT_DROP,
	 true, NULL},
	{"what nothing sends elsewhere", FILTER("ACCEPT", NO_DNAT " -j DROP\n"), "10.0.0.1", 1,
	 NFT_DROP, false, NULL},
	{"new, and perhaps sent elsewhere",
	 NAT FILTER("DROP", "-A INPUT -m conntrack --ctstate NEW,DNAT -j ACCEPT\n"), "10.0.0.1", 1,
	 NFT_ACCEPT, false, NULL},
	{"its own name changes behind this",
	 NAT FILTER("DROP", "-A INPUT -m conntrack --ctstate SNAT -j ACCEPT\n"), "10.0.0.1", 1,
	 NFT_DROP, false, "iptables: -P INPUT DROP"},
	{"by the older name", FILTER("DROP", "-A INPUT -m state --state NEW -j ACCEPT\n"),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"the first packet's flags",
	 FILTER("ACCEPT", "-A INPUT -p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN -j DROP\n"),
	 "10.0.0.1", 1, NFT_DROP, false, NULL},
	{"none of its flags",
	 FILTER("ACCEPT", "-A INPUT -p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN -j DROP\n"),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"what answers a SYN itself",
	 FILTER("DROP", "-A INPUT -p tcp -m conntrack --ctstate NEW -j SYNPROXY --sack-perm "
			"--mss 1460\n"),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"no flags at all",
	 FILTER("ACCEPT",
		"-A INPUT -p tcp -m tcp --tcp-flags FIN,SYN,RST,PSH,ACK,URG NONE -j DROP\n"),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"kinds of addresses",
	 FILTER("DROP", "-A INPUT -m addrtype --dst-type LOCAL,MULTICAST -j ACCEPT\n"), "10.0.0.1",
	 1, NFT_ACCEPT, false, NULL},
	{"an interface", FILTER("DROP", "-A INPUT -i eth+ -j ACCEPT\n"), "10.0.0.1", 1, NFT_ACCEPT,
	 false, NULL},
	{"loopback only", FILTER("DROP", "-A INPUT -i lo -j ACCEPT\n"), "10.0.0.1", 1, NFT_DROP,
	 false, NULL},
	{"a jump that returns",
	 FILTER("DROP", SUB "-A INPUT -j sub\n-A INPUT -j ACCEPT\n-A sub -j RETURN\n"), "10.0.0.1",
	 1, NFT_ACCEPT, false, NULL},
	{"a goto does not come back",
	 FILTER("DROP", SUB "-A INPUT -g sub\n-A INPUT -j ACCEPT\n-A sub -s 1.2.3.4/32 -j DROP\n"),
	 "10.0.0.1", 1, NFT_DROP, false, "iptables: -P INPUT DROP"},
	{"chains whose rules are not in order",
	 FILTER("ACCEPT", SUB "-A sub -p udp -j DROP\n-A INPUT -j sub\n-A sub -j DROP\n"),
	 "10.0.0.1", 1, NFT_DROP, false, "iptables: -A sub -j DROP"},
	{"what only looks on",
	 FILTER("ACCEPT", "-A INPUT -j LOG --log-prefix \"-j DROP \"\n"
			  "-A INPUT -m comment --comment \"a \\\"-j DROP\\\" b\" -j RETURN\n"
			  "-A INPUT -j DROP\n"),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"no first packet has such a header; a fragment; a broadcast",
	 FILTER("ACCEPT", "-A INPUT -m rt --rt-type 0 -j DROP\n"
			  "-A INPUT -m ipv6header --header ipv6-frag --soft -j DROP\n"
			  "-A INPUT -m frag --fragmore -j DROP\n-A INPUT -f -j DROP\n"
			  "-A INPUT -m pkttype --pkt-type broadcast -j DROP\n"
			  "-A INPUT -m pkttype --pkt-type multicast -j DROP\n"),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"so of IPv6, as ufw has it",
	 FILTER("DROP", "-A INPUT -m rt --rt-type 0 -j DROP\n-A INPUT -j ACCEPT\n"), "fd00::1", 1,
	 NFT_ACCEPT, false, NULL},
	{"what is no fragment", FILTER("DROP", "-A INPUT ! -f -j ACCEPT\n"), "10.0.0.1", 1,
	 NFT_ACCEPT, false, NULL},
	{"to this host alone", FILTER("DROP", "-A INPUT -m pkttype --pkt-type unicast -j ACCEPT\n"),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"from some to some",
	 FILTER("DROP", "-A INPUT -m iprange --src-range 10.0.0.1-10.0.0.9 --dst-range "
			"10.0.0.0-10.0.0.1 -j ACCEPT\n"),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"from others",
	 FILTER("DROP", "-A INPUT -m iprange --src-range 10.0.0.2-10.0.0.9 -j ACCEPT\n"
			"-A INPUT -m iprange ! --src-range 10.0.0.0-10.0.0.9 -j ACCEPT\n"),
	 "10.0.0.1", 1, NFT_DROP, false, "iptables: -P INPUT DROP"},
	{"ports of either end",
	 FILTER("DROP", "-A INPUT -p tcp -m multiport --ports 7,29500:29510 -j ACCEPT\n"),
	 "10.0.0.1", 29500, NFT_ACCEPT, false, NULL},
	{"of neither",
	 FILTER("ACCEPT", "-A INPUT -p tcp -m multiport --ports 7,29500:29510 -j DROP\n"),
	 "10.0.0.1", 80, NFT_ACCEPT, false, NULL},
	{"of the one that is not known, perhaps",
	 FILTER("ACCEPT", "-A INPUT -p tcp -m multiport --ports 40000 -j DROP\n"), "10.0.0.1", 80,
	 NFT_DROP, true, NULL},
	{"from a high port, as connections are",
	 FILTER("DROP", "-A INPUT -p tcp -m tcp --sport 1024:65535 --dport 7 -j ACCEPT\n"),
	 "10.0.0.1", 7, NFT_ACCEPT, false, NULL},
	{"from a low one", FILTER("ACCEPT", "-A INPUT -p tcp -m tcp --sport 0:1023 -j DROP\n"),
	 "10.0.0.1", 7, NFT_ACCEPT, false, NULL},
	{"a count of connections",
	 FILTER("ACCEPT", "-A INPUT -p tcp -m connlimit --connlimit-above 9 "
			  "--connlimit-mask 32 --connlimit-saddr -j DROP\n"),
	 "10.0.0.1", 7, NFT_DROP, true, NULL},
	{"a limit", FILTER("ACCEPT", "-A INPUT -m limit --limit 3/min --limit-burst 10 -j DROP\n"),
	 "10.0.0.1", 1, NFT_DROP, true, NULL},
	{"a set of ipset is not known",
	 FILTER("ACCEPT", "-A INPUT -m set --match-set bad src -j DROP\n"), "10.0.0.1", 1, NFT_DROP,
	 true, NULL},
	{"an option that is not known",
	 FILTER("ACCEPT", "-A INPUT -p tcp -m tcp --tcp-option 5 -j DROP\n"), "10.0.0.1", 1,
	 NFT_DROP, true, NULL},
	{"what comes in is for us",
	 FILTER("DROP", SUB "-A INPUT -j sub\n-A INPUT -j ACCEPT\n"
			    "-A sub -m addrtype --dst-type LOCAL -j RETURN\n-A sub -j DROP\n"),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"peers have a way back",
	 "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -m rpfilter --validmark --invert -j "
	 "DROP\nCOMMIT\n",
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"what a rule of raw keeps from being tracked is no answer",
	 "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p tcp -j CT --notrack\nCOMMIT\n" FILTER(
		 "DROP", "-A INPUT -m conntrack --ctstate NEW,ESTABLISHED -j ACCEPT\n"),
	 "10.0.0.1", 1, NFT_DROP, false, "iptables: -P INPUT DROP"},
	{"nor by its older name",
	 "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p tcp -j NOTRACK\nCOMMIT\n" FILTER(
		 "DROP", "-A INPUT -m conntrack --ctstate NEW,ESTABLISHED -j ACCEPT\n"),
	 "10.0.0.1", 1, NFT_DROP, false, "iptables: -P INPUT DROP"},
	{"what has a helper of its own is tracked",
	 "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p tcp -j CT --helper ftp\nCOMMIT\n" FILTER(
		 "DROP", "-A INPUT -m conntrack --ctstate NEW,ESTABLISHED -j ACCEPT\n"),
	 "10.0.0.1", 1, NFT_ACCEPT, false, NULL},
	{"before connections are told apart",
	 "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p tcp -m tcp --dport 7 -j DROP\nCOMMIT\n",
	 "10.0.0.1", 7, NFT_DROP, false,
	 "iptables -t raw: -A PREROUTING -p tcp -m tcp --dport 7 -j DROP"},
};

static void read_text(struct nft *n, struct arena *a, const char *text, const char *from,
		      uint16_t port, struct nft_packet *ret)
{
	*n = (struct nft){.a = a};
	*ret = packet_from(from, port);
	nft_add_iptables(n, strchr(from, ':') ? "ip6" : "ip", "iptables", true, text, strlen(text));
}

/* A kubelet's rule, a blocklist: they are on hosts that are well. */
static void few(void **state)
{
	static const struct {
		const char *rule;
		bool seldom;
	} rules[] = {
		{"-A INPUT -m mark --mark 0x8000/0x8000 -j DROP\n", true},
		{"-A INPUT -m mark ! --mark 0x1 -j DROP\n", false},
		{"-A INPUT -m mark --mark 0x0/0xff -j DROP\n", false},
		{"-A INPUT -m connmark --mark 0x4 -j DROP\n", true},
		{"-A INPUT -p tcp -m set --match-set bad src -j DROP\n", true},
		{"-A INPUT -m set ! --match-set good src,dst -j DROP\n", false},
		{"-A INPUT -m set --match-set bad src -m limit --limit 3/min -j DROP\n", false},
		{"-A INPUT -m statistic --mode random --probability 0.5 -j DROP\n", false},
		{"-A INPUT -p tcp -m tcp --sport 1024:40000 -j DROP\n", false},
		{"-A INPUT -m mark --mark 0x1 -j NFQUEUE --queue-num 0\n", false},
		{"-A INPUT -m limit --limit 3/min -j ACCEPT\n-A INPUT -j DROP\n", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		AUTO(arena_done) struct arena a = {0};
		AUTO(nft_done) struct nft n;
		struct nft_packet p;
		struct nft_answer x;

		read_text(&n, &a, arena_printf(&a, FILTER("ACCEPT", "%s"), rules[i].rule),
			  "10.0.0.1", 1, &p);
		x = nft_judge(&n, &p);
		if (!x.perhaps || x.seldom != rules[i].seldom)
			fail_msg("%s%s%s", rules[i].rule, x.perhaps ? " perhaps" : "",
				 x.seldom ? " seldom" : "");
	}
}

static void verdicts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(arena_done) struct arena a = {0};
		AUTO(nft_done) struct nft n;
		struct nft_packet p;

		read_text(&n, &a, cases[i].text, cases[i].from, cases[i].port, &p);
		expect_verdict(&n, &p, cases[i].what, cases[i].verdict, cases[i].perhaps,
			       cases[i].describe, &a);
	}
}

/* The same table as nft sees it, with a hole where the condition is: iptables' words count. */
static void instead_of_nfts(void **state)
{
	static const char json[] =
		"{\"nftables\":[{\"chain\":{\"family\":\"ip\",\"table\":\"filter\",\"name\":"
		"\"INPUT\",\"handle\":1,\"type\":\"filter\",\"hook\":\"input\",\"prio\":0,"
		"\"policy\":\"accept\"}},{\"chain\":{\"family\":\"inet\",\"table\":\"own\","
		"\"name\":"
		"\"in\",\"handle\":1,\"type\":\"filter\",\"hook\":\"input\",\"prio\":5,\"policy\":"
		"\"accept\"}},{\"rule\":{\"family\":\"ip\",\"table\":\"filter\",\"chain\":"
		"\"INPUT\",\"handle\":4,\"expr\":[{\"xt\":null},{\"drop\":null}]}},{\"rule\":{"
		"\"family\":\"inet\",\"table\":\"own\",\"chain\":\"in\",\"handle\":9,\"expr\":[{"
		"\"match\":{\"op\":\"==\",\"left\":{\"payload\":{\"protocol\":\"tcp\",\"field\":"
		"\"dport\"}},\"right\":5}},{\"drop\":null}]}}]}";
	static const char text[] =
		FILTER("ACCEPT", "-A INPUT -m conntrack --ctstate INVALID -j DROP\n");
	AUTO(arena_done) struct arena a = {0};
	AUTO(nft_done) struct nft n;
	struct nft_packet p = {.input = true};
	struct nft_answer x;
	struct err e = {0};

	(void)state;
	assert_int_equal(nft_parse(json, sizeof(json) - 1, &a, &n, &e), 0);
	assert_true(nft_is_foreign(&n));
	assert_int_equal(addr_parse("10.0.0.1", &p.from), 0);
	p.to = p.from;
	x = nft_judge(&n, &p);
	assert_true(x.perhaps);
	nft_add_iptables(&n, "ip", "iptables", false, text, sizeof(text) - 1);
	x = nft_judge(&n, &p);
	assert_int_equal(x.verdict, NFT_ACCEPT);
	addr_set_port(&p.to, 5); /* what is not iptables' is still there */
	x = nft_judge(&n, &p);
	assert_int_equal(x.verdict, NFT_DROP);
	assert_string_equal(nft_describe(&x, &a), "inet own in, handle 9: tcp dport 5 drop");
}

/* What nat sends elsewhere, or by the name of another machine, and what mends it. */
static void translations(void **state)
{
#define HOOKS(rules)                                                                               \
	"*nat\n:PREROUTING ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\n:own - " \
	"[0:0]\n" rules "COMMIT\n"
	static const struct {
		const char *text, *described, *fix; /* NULL: it passes */
		bool out;
	} all[] = {
		{HOOKS("-A PREROUTING -p tcp -m tcp --dport 5 -j REDIRECT --to-ports 9\n"),
		 "iptables -t nat: -A PREROUTING -p tcp -m tcp --dport 5 -j REDIRECT --to-ports 9",
		 "sudo iptables -t nat -I PREROUTING -s 10.0.0.1 -j ACCEPT", false},
		{HOOKS("-A PREROUTING -m addrtype --dst-type LOCAL -j own\n"
		       "-A own -p tcp --dport 5 -j DNAT --to-destination 10.9.9.9:5\n"),
		 "iptables -t nat: -A own -p tcp --dport 5 -j DNAT --to-destination 10.9.9.9:5",
		 "sudo iptables -t nat -I own -s 10.0.0.1 -j ACCEPT", false},
		{HOOKS("-A OUTPUT -p tcp --dport 5 -j REDIRECT\n"),
		 "iptables -t nat: -A OUTPUT -p tcp --dport 5 -j REDIRECT",
		 "sudo iptables -t nat -I OUTPUT -d 10.0.0.1 -j ACCEPT", true},
		{HOOKS("-A POSTROUTING -o eth0 -j SNAT --to-source 10.9.9.9:1024-2048\n"),
		 "iptables -t nat: -A POSTROUTING -o eth0 -j SNAT --to-source 10.9.9.9:1024-2048",
		 "sudo iptables -t nat -I POSTROUTING -d 10.0.0.1 -j ACCEPT", true},
		/* its own address; one of several; whichever the card has; for others */
		{HOOKS("-A POSTROUTING -j SNAT --to-source 10.0.0.2\n"), NULL, NULL, true},
		{HOOKS("-A POSTROUTING -j SNAT --to-source 10.9.9.1-10.9.9.9\n"), NULL, NULL, true},
		{HOOKS("-A POSTROUTING -j SNAT\n"), NULL, NULL, true},
		{HOOKS("-A POSTROUTING -j MASQUERADE\n"
		       "-A POSTROUTING -j SNAT --to-source 10.9.9.9\n"),
		 NULL, NULL, true},
		{HOOKS("-A PREROUTING -p tcp --dport 6 -j REDIRECT\n"), NULL, NULL, false},
		{HOOKS("-A PREROUTING -s 10.0.0.0/24 -j ACCEPT\n-A PREROUTING -j REDIRECT\n"), NULL,
		 NULL, false},
		{HOOKS("-A OUTPUT -p tcp --dport 5 -j REDIRECT\n"), NULL, NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		AUTO(arena_done) struct arena a = {0};
		AUTO(nft_done) struct nft n;
		struct nft_packet p;
		struct nft_answer x;
		struct firewall fw = {.known = true};

		read_text(&n, &a, all[i].text, "10.0.0.1", 5, &p);
		assert_int_equal(addr_parse("10.0.0.2", &p.to), 0);
		addr_set_port(&p.to, 5);
		p.iface = "eth0";
		if (all[i].out) {
			p.input = false;
			assert_int_equal(addr_parse("10.0.0.1", &p.to), 0);
			assert_int_equal(addr_parse("10.0.0.2", &p.from), 0);
			addr_set_port(&p.to, 5);
		}
		assert_int_equal(nft_judge_all(&n, &p, &x, 1), all[i].fix != NULL);
		if (!all[i].fix)
			continue;
		assert_string_equal(nft_describe(&x, &a), all[i].described);
		assert_string_equal(firewall_fix(&fw, &x, "10.0.0.1", &a), all[i].fix);
		p.answer = true; /* of a connection that is known, nothing is translated anew */
		assert_int_equal(nft_judge_all(&n, &p, &x, 1), 0);
	}
}

/* ufw changes a rule that differs in its verdict alone, and does not add one before it. */
static void ufw_says_so_already(void **state)
{
	static const struct nft_chain base = {.hook = "input"};
	static const struct nft_chain c = {
		.family = "ip", .table = "filter", .name = "ufw-user-input", .tool = "iptables"};
	static const struct nft_rule exact = {.chain = &c,
					      .text = "-A ufw-user-input -s 10.0.0.1/32 -j DROP"};
	static const struct nft_rule port = {
		.chain = &c, .text = "-A ufw-user-input -s 10.0.0.1/32 -p tcp --dport 5 -j DROP"};
	AUTO(arena_done) struct arena a = {0};
	struct firewall fw = {.known = true, .manager = "ufw"};
	struct nft_answer x = {.verdict = NFT_DROP, .rule = &exact, .chain = &c, .base = &base};

	(void)state;
	*LIST_ADD(&a, &fw.nft.chains) = c;
	assert_string_equal(firewall_fix(&fw, &x, "10.0.0.1", &a), "sudo ufw allow from 10.0.0.1");
	assert_string_equal(firewall_fix(&fw, &x, "10.0.0.2", &a),
			    "sudo ufw prepend allow from 10.0.0.2");
	x.rule = &port;
	assert_string_equal(firewall_fix(&fw, &x, "10.0.0.1", &a),
			    "sudo ufw prepend allow from 10.0.0.1");
}

/* Each in the words of whose rule it is. */
static void fixes(void **state)
{
	static const struct {
		const char *manager, *family, *table, *chain, *hook, *tool, *subnet, *fix;
	} rows[] = {
		{NULL, "inet", "t", "in", "input", NULL, "10.0.0.0/24",
		 "sudo nft insert rule inet t in ip saddr 10.0.0.0/24 accept"},
		{NULL, "inet", "t", "out", "output", NULL, "fd00::/64",
		 "sudo nft insert rule inet t out ip6 daddr fd00::/64 accept"},
		{NULL, "ip", "filter", "INPUT", "input", "iptables", "10.0.0.0/24",
		 "sudo iptables -I INPUT -s 10.0.0.0/24 -j ACCEPT"},
		{NULL, "ip", "raw", "OUTPUT", "output", "iptables-legacy", "10.0.0.0/24",
		 "sudo iptables-legacy -t raw -I OUTPUT -d 10.0.0.0/24 -j ACCEPT"},
		{"ufw", "ip", "filter", "ufw-user-input", "input", "iptables", "10.0.0.0/24",
		 "sudo ufw prepend allow from 10.0.0.0/24"},
		{"ufw", "ip", "filter", "OUTPUT", "output", "iptables", "10.0.0.0/24",
		 "sudo ufw prepend allow out to 10.0.0.0/24"},
		{"ufw", "ip", "filter", "ufw-before-input", "input", "iptables", "10.0.0.0/24",
		 "sudo iptables -I ufw-before-input -s 10.0.0.0/24 -j ACCEPT"},
		{"ufw", "ip", "filter", "INPUT", "input", "iptables-legacy", "10.0.0.0/24",
		 "sudo iptables-legacy -I INPUT -s 10.0.0.0/24 -j ACCEPT"},
		/* not ufw's own, whoever else manages something here */
		{"ufw", "inet", "t", "in", "input", NULL, "10.0.0.0/24",
		 "sudo nft insert rule inet t in ip saddr 10.0.0.0/24 accept"},
		{"firewalld", "inet", "t", "in", "input", NULL, "10.0.0.0/24",
		 "sudo nft insert rule inet t in ip saddr 10.0.0.0/24 accept"},
		{"firewalld", "inet", "firewalld", "filter_IN_public_deny", "input", NULL,
		 "10.0.0.0/24",
		 "sudo firewall-cmd --permanent --zone=trusted --add-source=10.0.0.0/24 && sudo "
		 "firewall-cmd --reload"},
		{"firewalld", "inet", "firewalld", "filter_IN_policy_mine_pre", "input", NULL,
		 "10.0.0.1",
		 "sudo firewall-cmd --permanent --policy=mine --add-rich-rule='rule "
		 "priority=\"-32768\" family=\"ipv4\" source address=\"10.0.0.1\" accept' && sudo "
		 "firewall-cmd --reload"},
		{"firewalld", "inet", "firewalld", "filter_OUT_policy_mine", "output", NULL,
		 "fd00::1",
		 "sudo firewall-cmd --permanent --policy=mine --add-rich-rule='rule "
		 "priority=\"-32768\" family=\"ipv6\" destination address=\"fd00::1\" accept' && "
		 "sudo firewall-cmd --reload"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};
		const struct nft_chain base = {.hook = rows[i].hook}, c = {.family = rows[i].family,
									   .table = rows[i].table,
									   .name = rows[i].chain,
									   .tool = rows[i].tool};
		const struct nft_answer x = {.verdict = NFT_DROP, .chain = &c, .base = &base};
		struct firewall fw = {.known = true, .manager = rows[i].manager};

		*LIST_ADD(&a, &fw.nft.chains) = (struct nft_chain){.family = "ip",
								   .table = "filter",
								   .name = "ufw-track-input",
								   .tool = "iptables"};
		assert_string_equal(firewall_fix(&fw, &x, rows[i].subnet, &a), rows[i].fix);
	}
}

static void loopback(void **state)
{
	static const struct {
		const char *text;
		bool stops;
		const char *fix;
	} rows[] = {
		{FILTER("DROP", ""), true, "sudo iptables -I INPUT -i lo -j ACCEPT"},
		{FILTER("DROP", "-A INPUT -i lo -j ACCEPT\n"), false, NULL},
		{FILTER("ACCEPT", "-A INPUT -s 10.0.0.0/8 -j DROP\n"), false, NULL},
		{FILTER("ACCEPT", "-A INPUT -m conntrack --ctstate ESTABLISHED -j DROP\n"), true,
		 "sudo iptables -I INPUT -i lo -j ACCEPT"},
		{"*filter\n:OUTPUT DROP [0:0]\nCOMMIT\n", true,
		 "sudo iptables -I OUTPUT -o lo -j ACCEPT"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct firewall fw = {.known = true};
		struct nft_packet ignored;
		struct nft_answer x;

		read_text(&fw.nft, &a, rows[i].text, "10.0.0.1", 1, &ignored);
		assert_int_equal(firewall_stops_loopback(&fw, &x), rows[i].stops);
		if (rows[i].fix)
			assert_string_equal(firewall_fix_loopback(&fw, &x, &a), rows[i].fix);
		firewall_done(&fw);
	}
}

static void junk(void **state)
{
	static const char *const bad[] = {"",
					  "*",
					  "*filter\n-A",
					  "*filter\n:",
					  "-A INPUT",
					  "*filter\n:INPUT\n-A INPUT -s",
					  "*filter\n:A DROP\n-A A \"",
					  "*filter\n:INPUT -\n-A INPUT ! !"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(arena_done) struct arena a = {0};
		AUTO(nft_done) struct nft n;
		struct nft_packet p;

		read_text(&n, &a, bad[i], "10.0.0.1", 1, &p);
		(void)nft_judge(&n, &p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts),	   cmocka_unit_test(few),
		cmocka_unit_test(instead_of_nfts), cmocka_unit_test(fixes),
		cmocka_unit_test(translations),	   cmocka_unit_test(ufw_says_so_already),
		cmocka_unit_test(loopback),	   cmocka_unit_test(junk)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
