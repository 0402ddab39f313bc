/* IPv6's questions for neighbours: which rules stop them, of whom they are, and what lets them
 * through; and how a rank of many tells them. */
#include "lib/core/file.h"
#include "lib/report/json.h"
#include "probes/iface/facts.h"
#include "probes/port/mesh_self.h"
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
	{"their answers alone, by type and code", INPUT("DROP", OF("136/0", "")), ON_LINK, true},
	{"both", INPUT("DROP", OF("135/0", "") OF("136/0", "")), ON_LINK, false},
	{"other ICMPv6 alone", INPUT("DROP", "-A INPUT -p tcp -j ACCEPT\n" OF("128", "")), ON_LINK,
	 true},
	{"what has come from afar",
	 INPUT("DROP", OF("135", " -m hl --hl-eq 64") OF("136", " -m hl --hl-eq 64")), ON_LINK,
	 true},
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
		{"t", "in", "sudo nft insert rule inet t in meta l4proto icmpv6 accept"},
		{"firewalld", "filter_INPUT",
		 "sudo firewall-cmd --permanent --add-protocol=ipv6-icmp && sudo firewall-cmd "
		 "--reload"},
		{"firewalld", "filter_IN_drop",
		 "sudo firewall-cmd --permanent --zone=drop --add-protocol=ipv6-icmp && sudo "
		 "firewall-cmd --reload"},
		{"firewalld", "filter_IN_drop_to_HOST_deny",
		 "sudo firewall-cmd --permanent --zone=drop --add-protocol=ipv6-icmp && sudo "
		 "firewall-cmd --reload"},
		{"firewalld", "filter_IN_drop_to_HOST",
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

/* --- to many --------------------------------------------------------------------- */
enum { MANY = 40 };

/* A rank of many, that reaches none and is reached by none. */
struct lost {
	struct composed c;
	struct facts facts;
	struct mesh_self s;
	cJSON *line;
};

static void lost_make(struct lost *x, const char *rules)
{
	*x = (struct lost){.line = cJSON_CreateObject()};
	composed_load(&x->c, MACHINE);
	x->facts = (struct facts){.inv = x->c.inv, .a = &x->c.a};
	x->s = (struct mesh_self){
		.f = &x->facts,
		.a = &x->c.a,
		.n = MANY,
		.lost_n = (MANY + 7) / 8,
		.local = {.f = &x->facts, .fw = {.known = true, .nft = {.a = &x->c.a}}},
	};
	x->s.addrs = arena_alloc(&x->c.a, MANY * sizeof(*x->s.addrs));
	x->s.lost = arena_alloc(&x->c.a, MANY * x->s.lost_n);
	memset(x->s.lost, 0xff, MANY * x->s.lost_n);
	for (size_t i = 0; i < MANY; i++)
		x->s.addrs[i] = parsed(arena_printf(&x->c.a, "fd00:77::%zx", i + 1));
	nft_add_iptables(&x->s.local.fw.nft, "ip6", "ip6tables", true, rules, strlen(rules));
	json_num(x->line, "rank", 0);
	(void)json_array(x->line, "rules");
	mesh_neighbours(&x->s, x->line);
}

static void lost_done(struct lost *x)
{
	cJSON_Delete(x->line);
	nft_done(&x->s.local.fw.nft);
	composed_done(&x->c);
}

/* The causes of all pairs with node 0, as they are taken from its line; what is said of them. */
static const char *taken(struct lost *x, bool in, enum port_cause ret[MANY])
{
	struct report_opts ro = {.command = "portcheck", .format = "json", .host = "me"};
	struct err e = {0};
	struct mesh_opts o = {0};
	size_t nodes[MANY], n;
	struct mesh m;
	char *said;

	ro.output = arena_printf(&x->c.a, "%s/said", x->c.dir);

	mesh_init(&m, &o, MANY, &x->c.a, report_new(&ro, &e));
	for (size_t i = 0; i < MANY; i++) {
		struct mesh_cell *c = in ? mesh_edit(&m, i, 0) : mesh_edit(&m, 0, i);

		nodes[i] = i;
		m.nodes[i].name = arena_printf(&x->c.a, "n%zu", i);
		m.nodes[i].rules_known = true;
		*LIST_ADD(&x->c.a, &m.nodes[i].ports) = 29500;
		if (i)
			*c = (struct mesh_cell){.row = "f c -", .bad = 1, .cause = CAUSE_NOT_SEEN6};
	}
	m.rank_node = nodes;
	m.nranks = MANY;
	mesh_take(&m, MESH_RULES, x->line);
	mesh_judge(&m);
	for (size_t i = 1; i < MANY; i++)
		ret[i] = (in ? mesh_at(&m, i, 0) : mesh_at(&m, 0, i))->cause;
	assert_int_equal(report_end(m.report, &e), 1);
	assert_int_equal(file_read(ro.output, 1 << 20, &x->c.a, &said, &n, &e), 0);
	assert_int_equal(unlink(ro.output), 0);
	return said;
}

static void one_rule_is_told_once(void **state UNUSED)
{
	AUTO(lost_done) struct lost x;
	enum port_cause causes[MANY];

	lost_make(&x, INPUT("ACCEPT", "-A INPUT -p ipv6-icmp -j DROP\n"));
	assert_int_equal(cJSON_GetArraySize(json_get(x.line, "rules")), 2); /* each way */
	assert_null(json_get(x.line, "rules_cut"));
	(void)taken(&x, true, causes);
	for (size_t i = 1; i < MANY; i++)
		assert_int_equal(causes[i], CAUSE_THEIR_ND);
	(void)taken(&x, false, causes);
	for (size_t i = 1; i < MANY; i++)
		assert_int_equal(causes[i], CAUSE_OWN_ND);
}

static void of_many_rules_some_and_that_there_are_more(void **state UNUSED)
{
	AUTO(lost_done) struct lost x;
	enum port_cause causes[MANY];
	char rules[1024] = "*filter\n:INPUT ACCEPT [0:0]\n";
	size_t known = 0;

	for (int i = 2; i < 12; i++)
		(void)snprintf(rules + strlen(rules), sizeof(rules) - strlen(rules),
			       "-A INPUT -s fd00:77::%x -p ipv6-icmp -j DROP\n", i);
	(void)snprintf(rules + strlen(rules), sizeof(rules) - strlen(rules), "COMMIT\n");
	lost_make(&x, rules);
	assert_int_equal(cJSON_GetArraySize(json_get(x.line, "rules")), 2 * MESH_MOST_RULES);
	assert_true(cJSON_IsTrue(json_get(x.line, "rules_cut")));
	assert_non_null(strstr(taken(&x, true, causes),
			       "; more than 4 rules of its own stop IPv6's questions"));
	for (size_t i = 1; i < MANY; i++)
		known += causes[i] == CAUSE_THEIR_ND;
	assert_int_equal(known, MESH_MOST_RULES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_stops_them), cmocka_unit_test(one_rule_is_told_once),
		cmocka_unit_test(of_many_rules_some_and_that_there_are_more),
		cmocka_unit_test(none_in_ipv4), cmocka_unit_test(in_the_words_of_whose_rule_it_is)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
