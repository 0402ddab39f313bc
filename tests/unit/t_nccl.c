/* NCCL's rules: list and conf grammar, numbers and versions, what it would choose where. */
#include "probes/rules/nccl.h"
#include "tests/unit/composed.h"

extern const struct rules rules_nccl;

static const struct {
	const char *list, *name;
	bool passes;
} matches[] = {
	{"eth", "eth0", true},
	{"eth", "veth0", false},
	{"eth0", "eth", false},
	{"=eth0", "eth0", true},
	{"=eth0", "eth01", false},
	{"=eth0,eth1", "eth1", true},
	{"^docker,lo", "eth0", true},
	{"^docker,lo", "docker0", false},
	{"^docker,lo", "local0", false},
	{"^=docker0", "docker0", false},
	{"^=docker0", "docker01", true},
	{"^docker,^lo", "lo", true},
	{"^docker,^lo", "^lo", false},
	{"=^eth0", "eth0", false},
	{"=^eth0", "^eth0", true},
	{"eth0,=eth1", "eth1", false},
	{"eth0,=eth1", "=eth1", true},
	{" eth0", "eth0", false},
	{"eth0, eth1", "eth1", false},
	{"\"eth0\"", "eth0", false},
	{"eth1", "eth10", true},
	{"eth1", "eth1:1", true},
	{"eth0:1", "eth0", true},
	{"eth0:1", "eth0:1", true},
	{"=eth0:1", "eth0", true},
	{"=eth0:1", "eth0:1", false},
	{"eth0:x,ens5:7", "ens5", true},
	{":1,eth0", "eth0", true},
	{":1,eth0", "lo", false},
	{",,eth0,", "eth0", true},
	{",,eth0,", "lo", false},
	/* nothing in the list: everything fits, or with ^ nothing */
	{"^", "eth0", false},
	{"^=", "eth0", false},
	{",", "eth0", true},
	{"", "eth0", true},
	{"==", "=", true},
	{"==", "eth0", false},
	/* sixteen entries are read, the seventeenth is not */
	{"A,B,C,D,E,F,G,H,I,J,K,L,M,N,O,eth0,lo", "eth0", true},
	{"A,B,C,D,E,F,G,H,I,J,K,L,M,N,O,eth0,lo", "lo", false},
	{"A,B,C,D,E,F,G,H,I,J,K,L,M,N,O,,eth0,,lo", "eth0", true},
};

static void names_are_matched(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(matches); i++) {
		struct nccl_ifspec s;

		nccl_ifspec_parse(matches[i].list, &s);
		if (nccl_ifspec_match(&s, matches[i].name) != matches[i].passes)
			fail_msg("[%s] and %s", matches[i].list, matches[i].name);
	}
}

static void lists_are_cut(void **state)
{
	struct nccl_ifspec s;
	char entry[201];

	(void)state;
	nccl_ifspec_parse("A,B,C,D,E,F,G,H,I,J,K,L,M,N,O,p,,", &s);
	assert_int_equal(s.n, NCCL_MAX_IFS);
	assert_false(s.truncated);
	nccl_ifspec_parse("A,B,C,D,E,F,G,H,I,J,K,L,M,N,O,p,q", &s);
	assert_int_equal(s.n, NCCL_MAX_IFS);
	assert_true(s.truncated);
	memset(entry, 'x', 200);
	entry[200] = '\0';
	nccl_ifspec_parse(entry, &s);
	assert_int_equal(strlen(s.prefix[0]), NCCL_NAME_SIZE - 1);
}

static void ports_count_for_devices(void **state)
{
	struct nccl_ifspec s;

	(void)state;
	nccl_ifspec_parse("=mlx5_0:1,mlx5_2", &s);
	assert_true(nccl_ifspec_match_port(&s, "mlx5_0", 1));
	assert_false(nccl_ifspec_match_port(&s, "mlx5_0", 2));
	assert_true(nccl_ifspec_match_port(&s, "mlx5_2", 2));
	nccl_ifspec_parse("^mlx5_0:2", &s);
	assert_true(nccl_ifspec_match_port(&s, "mlx5_0", 1));
	assert_false(nccl_ifspec_match_port(&s, "mlx5_0", 2));
}

static const struct {
	const char *line, *name, *value; /* name NULL: sets nothing */
} lines[] = {
	{"NCCL_X=1", "NCCL_X", "1"},
	{"NCCL_X = 1", "NCCL_X ", " 1"},
	{"NCCL_X=\"a\"", "NCCL_X", "\"a\""},
	{"NCCL_X=1 # why", "NCCL_X", "1 # why"},
	{"NCCL_X=a=b", "NCCL_X", "a=b"},
	{"NCCL_X=", "NCCL_X", ""},
	{"NCCL_X=1\r", "NCCL_X", "1\r"},
	{"export NCCL_X=1", "export NCCL_X", "1"},
	{" #NCCL_X=1", " #NCCL_X", "1"},
	{"#NCCL_X=1", NULL, NULL},
	{"=1", NULL, NULL},
	{"NCCL_X", NULL, NULL},
	{"", NULL, NULL},
};

static void conf_lines_are_read(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	const char *name, *value;
	char big[5000];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		bool sets = nccl_conf_line(lines[i].line, strlen(lines[i].line), &a, &name, &value);

		if (sets != (lines[i].name != NULL))
			fail_msg("[%s]", lines[i].line);
		if (!sets)
			continue;
		assert_string_equal(name, lines[i].name);
		assert_string_equal(value, lines[i].value);
	}
	assert_true(nccl_conf_line("A=b\0c", 5, &a, &name, &value));
	assert_string_equal(value, "b");
	memset(big, 'x', sizeof(big));
	big[2000] = '=';
	assert_true(nccl_conf_line(big, sizeof(big), &a, &name, &value));
	assert_int_equal(strlen(name), 1023);
	assert_int_equal(strlen(value), 1023);
}

static void numbers_are_what_strtoll_says(void **state)
{
	static const struct {
		const char *text;
		bool read;
		int64_t v;
	} rows[] = {{"1", true, 1},	{"yes", true, 0},
		    {"0x10", true, 16}, {"22s", true, 22},
		    {" 7", true, 7},	{"", false, 0},
		    {"-1", true, -1},	{"010", true, 8},
		    {"true", true, 0},	{"99999999999999999999", false, 0}};
	int64_t v;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		v = 0;
		assert_int_equal(nccl_param_parse(rows[i].text, &v), rows[i].read);
		assert_int_equal(v, rows[i].v);
	}
}

static void versions_are_codes(void **state)
{
	static const struct {
		const char *text;
		unsigned code; /* 0: refused */
	} rows[] = {{"2.28.9", 22809},
		    {"22809", 22809},
		    {"2.30", 23000},
		    {"2.8.4", 2804},
		    {"2804", 2804},
		    {"2.28.9+cuda13.0", 22809},
		    {"2.28.9-1", 22809},
		    {"2.27.3-1+cuda12.9", 22703},
		    {"2", 0},
		    {"", 0},
		    {"2.", 0},
		    {"2.28.", 0},
		    {"v2.28.9", 0},
		    {"2.28.9.1", 0},
		    {"2.100.1", 0},
		    {"2.28.9 ", 0},
		    {"-2.28", 0},
		    {"99999999999", 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned code = 0;
		int r = nccl_version_parse(rows[i].text, &code);

		if ((r == 0) != (rows[i].code != 0) || code != rows[i].code)
			fail_msg("[%s]: %u", rows[i].text, code);
	}
}

/* --- predictions ---------------------------------------------------------------- */

#define LO "link 1 lo type=loopback state=unknown\naddr lo 127.0.0.1/8\naddr lo ::1/128\n"
#define ETH "link 2 eth0\naddr eth0 10.0.0.5/24\n"
#define DOCKER "link 3 docker0 kind=bridge\naddr docker0 172.17.0.1/16\n"
#define PLAIN LO ETH DOCKER
/* measured on a real host: the bridge is older than the hot-plugged NIC */
#define BRIDGE                                                                                     \
	LO "link 4 br-aaaa kind=bridge\nlink 5 ens3\nlink 6 veth1 kind=veth\n"                     \
	   "addr br-aaaa 172.19.0.1/16\naddr ens3 10.0.0.5/24\naddr ens3 10.0.1.5/24 "             \
	   "label=ens3:1\naddr veth1 fe80::1/64\n"
#define LINKLOCAL LO ETH "link 7 eth1\naddr eth1 fe80::7/64\n"
#define IPOIB LO ETH "link 8 ibs1\naddr ibs1 fe80::8/64\n"
#define VIRBR LO "link 2 virbr0 kind=bridge\naddr virbr0 192.168.122.1/24\n"
/* with a container that runs, which is a port of it */
#define CONTAINERS(bridge)                                                                         \
	LO ETH "link 4 " bridge " kind=bridge\naddr " bridge " 10.42.7.1/24\n"                     \
	       "link 6 port0 kind=veth link=5 elsewhere master=" bridge "\n"
#define DUAL LO "link 2 eth0\naddr eth0 fd00::5/64\naddr eth0 fe80::5/64\n"

static const struct guess {
	const char *machine;
	const char *ifname, *family, *comm_id;
	unsigned version;
	const char *outcome, *interface, *address, *all, *rule;
	bool reachable;
} guesses[] = {
#define AUTO_NOT "automatic:not docker,lo,virbr"
#define OFF                                                                                        \
	"link 2 eth0 state=nocarrier\naddr eth0 10.0.0.5/24\n"                                     \
	"link 3 eth2 state=down\naddr eth2 10.0.2.5/24\nlink 4 eth1\naddr eth1 10.0.1.5/24\n"
#define BY_LIST "NCCL_SOCKET_IFNAME"
#define BY_ID "NCCL_COMM_ID"
#define BY_ID_OVER "NCCL_COMM_ID:overrun"
#define DIGITS_31 "0000000000000000000000000029500"
	{PLAIN, NULL, NULL, NULL, 0, "ok", "eth0", "10.0.0.5", "eth0", AUTO_NOT, true},
	{"wsl2", NULL, NULL, NULL, 0, "ok", "eth0", "172.23.240.213", "eth0", AUTO_NOT, false},
	{"wsl2-mirrored", NULL, NULL, NULL, 0, "ok", "eth0", "172.16.3.42", "eth0 eth2", AUTO_NOT,
	 true},
	{LO "link 2 eth0\naddr eth0 10.0.2.15/24\nroute default via=10.0.2.2 dev=eth0\n", NULL,
	 NULL, NULL, 0, "ok", "eth0", "10.0.2.15", "eth0", AUTO_NOT, false},
	{PLAIN, "", NULL, NULL, 0, "ok", "eth0", "10.0.0.5", "eth0", AUTO_NOT, true},
	{PLAIN, "d", NULL, NULL, 0, "ok", "eth0", "10.0.0.5", "eth0", AUTO_NOT, true},
	{PLAIN, "do", NULL, NULL, 0, "ok", "docker0", "172.17.0.1", "docker0", BY_LIST, false},
	{PLAIN, "^docker", NULL, NULL, 0, "ok", "lo", "127.0.0.1", "lo eth0", BY_LIST, false},
	{PLAIN, "^docker,lo", NULL, NULL, 0, "ok", "eth0", "10.0.0.5", "eth0", BY_LIST, true},
	{PLAIN, "=eth", NULL, NULL, 0, "none", NULL, NULL, "", BY_LIST, false},
	{PLAIN, NULL, "AF_INET6", NULL, 0, "none", NULL, NULL, "", "automatic", false},
	{PLAIN, NULL, "inet6", NULL, 0, "ok", "eth0", "10.0.0.5", "eth0", AUTO_NOT, true},
	{LO DOCKER, NULL, NULL, NULL, 0, "ok", "docker0", "172.17.0.1", "docker0",
	 "automatic:docker", false},
	{LO, NULL, NULL, NULL, 0, "ok", "lo", "127.0.0.1", "lo", "automatic:lo", false},
	{LO, "=lo", "AF_INET6", NULL, 0, "none", NULL, NULL, "", BY_LIST, false},
	{"link 2 eth0 state=nocarrier\naddr eth0 10.0.0.5/24\n", NULL, NULL, NULL, 0, "none", NULL,
	 NULL, "", "automatic", false},
	/* up to 2.27 neither a carrier nor being up was asked for */
	{OFF, NULL, NULL, NULL, 22803, "ok", "eth1", "10.0.1.5", "eth1", AUTO_NOT, true},
	{OFF, NULL, NULL, NULL, 22707, "ok", "eth0", "10.0.0.5", "eth0 eth2 eth1",
	 "automatic:not docker,lo", false},
	{OFF, "=eth2", NULL, NULL, 22803, "none", NULL, NULL, "", BY_LIST, false},
	{OFF, "=eth2", NULL, NULL, 22707, "ok", "eth2", "10.0.2.5", "eth2", BY_LIST, false},
	{OFF, "=eth2", "AF_INET6", NULL, 22707, "none", NULL, NULL, "", BY_LIST, false},
	{BRIDGE, NULL, NULL, NULL, 0, "ok", "br-aaaa", "172.19.0.1", "br-aaaa ens3 ens3:1 veth1",
	 AUTO_NOT, false},
	{BRIDGE, "=ens3", NULL, NULL, 0, "ok", "ens3", "10.0.0.5", "ens3", BY_LIST, true},
	{BRIDGE, "ens3", NULL, NULL, 0, "ok", "ens3", "10.0.0.5", "ens3 ens3:1", BY_LIST, true},
	{BRIDGE, "=ens3:1", NULL, NULL, 0, "ok", "ens3", "10.0.0.5", "ens3", BY_LIST, true},
	{LINKLOCAL, NULL, NULL, NULL, 0, "ok", "eth0", "10.0.0.5", "eth0 eth1", AUTO_NOT, false},
	{IPOIB, NULL, NULL, NULL, 0, "ok", "ibs1", "fe80::8%ibs1", "ibs1", "automatic:ib", false},
	{CONTAINERS("lxdbr0"), NULL, NULL, NULL, 0, "ok", "eth0", "10.0.0.5", "eth0 lxdbr0",
	 AUTO_NOT, false},
	{CONTAINERS("incusbr0"), NULL, NULL, NULL, 0, "ok", "eth0", "10.0.0.5", "eth0 incusbr0",
	 AUTO_NOT, false},
	{CONTAINERS("lxcbr0"), NULL, NULL, NULL, 0, "ok", "eth0", "10.0.0.5", "eth0 lxcbr0",
	 AUTO_NOT, false},
	{CONTAINERS("cni0"), NULL, NULL, NULL, 0, "ok", "eth0", "10.0.0.5", "eth0 cni0", AUTO_NOT,
	 false},
	{CONTAINERS("podman0"), NULL, NULL, NULL, 0, "ok", "eth0", "10.0.0.5", "eth0 podman0",
	 AUTO_NOT, false},
	{VIRBR, NULL, NULL, NULL, 22803, "ok", "lo", "127.0.0.1", "lo", "automatic:lo", false},
	{VIRBR, NULL, NULL, NULL, 22707, "ok", "virbr0", "192.168.122.1", "virbr0",
	 "automatic:not docker,lo", false},
	{DUAL, NULL, NULL, NULL, 0, "ok", "eth0", "fd00::5", "eth0", AUTO_NOT, true},
	{"link 2 eth0\naddr eth0 fd00::5/64 flags=tentative\n", NULL, NULL, NULL, 0, "fails",
	 "eth0", "fd00::5", "eth0", AUTO_NOT, false},
	{"link 2 eth0\naddr eth0 fd00::5/64 flags=tentative,optimistic\n", NULL, NULL, NULL, 0,
	 "ok", "eth0", "fd00::5", "eth0", AUTO_NOT, true},
	/* NCCL_COMM_ID: the list is not asked, nor is the carrier; data goes its own way */
	{PLAIN, "=docker0", NULL, "10.0.0.9:29500", 0, "ok", "eth0", "10.0.0.5", "docker0", BY_ID,
	 false},
	{PLAIN, NULL, NULL, "172.17.0.9:1", 0, "ok", "docker0", "172.17.0.1", "docker0", BY_ID,
	 false},
	{PLAIN, NULL, NULL, "127.0.0.1:1", 0, "ok", "lo", "127.0.0.1", "lo", BY_ID, false},
	{PLAIN, NULL, NULL, "10.0.0.9", 0, "ok", "eth0", "10.0.0.5", "eth0", BY_ID, true},
	{PLAIN, NULL, NULL, "10.9:1", 0, "ok", "eth0", "10.0.0.5", "eth0", BY_ID, true},
	{PLAIN, NULL, NULL, "10.0.0.9,192.0.2.1:1", 0, "ok", "eth0", "10.0.0.5", "eth0", BY_ID,
	 true},
	{"link 2 eth0 state=nocarrier\naddr eth0 10.0.0.5/24\n", NULL, NULL, "10.0.0.9:1", 0, "ok",
	 "eth0", "10.0.0.5", "eth0", BY_ID, false},
	{PLAIN, NULL, NULL, "192.0.2.1:1", 0, "fails", NULL, NULL, "eth0", BY_ID, false},
	{PLAIN, NULL, NULL, "", 0, "fails", NULL, NULL, "eth0", BY_ID, false},
	{PLAIN, NULL, NULL, ":1", 0, "fails", NULL, NULL, "eth0", BY_ID, false},
	{PLAIN, NULL, NULL, "^10.0.0.9:1", 0, "fails", NULL, NULL, "eth0", BY_ID, false},
	{PLAIN, NULL, NULL, "nohost:1", 0, "fails", NULL, NULL, "eth0", BY_ID, false},
	{DUAL, NULL, NULL, "[fd00::9]:1", 0, "ok", "eth0", "fd00::5", "eth0", BY_ID, true},
	{DUAL, NULL, NULL, "[fd00::9%nosuch]:1", 0, "ok", "eth0", "fd00::5", "eth0", BY_ID, true},
	{DUAL, NULL, NULL, "[fd00::9%eth0]:1", 0, "fails", NULL, NULL, "eth0", BY_ID, false},
	{DUAL, NULL, NULL, "[fe80::9%eth0]:1", 0, "ok", "eth0", "fe80::5%eth0", "eth0", BY_ID,
	 false},
	{DUAL, NULL, NULL, "[fe80::9%eth0:1]:1", 0, "ok", "eth0", "fe80::5%eth0", "eth0", BY_ID,
	 false},
	{DUAL, NULL, NULL, "[fe80::9]:1", 0, "fails", NULL, NULL, "eth0", BY_ID, false},
	{DUAL, NULL, NULL, "[fd00::9", 0, "fails", NULL, NULL, "eth0", BY_ID, false},
	{DUAL, NULL, NULL, "[10.0.0.1]:1", 0, "fails", NULL, NULL, "eth0", BY_ID, false},
	{DUAL, NULL, NULL, "[]:1", 0, "fails", NULL, NULL, "eth0", BY_ID, false},
	/* 2.29 takes what is outside of the subnet, by mistake; of IPv6 it does not */
	{PLAIN, NULL, NULL, "10.0.0.9:1", 22809, "ok", "eth0", "10.0.0.5", "eth0", BY_ID, true},
	{PLAIN, NULL, NULL, "10.0.0.9:1", 22902, "ok", "lo", "127.0.0.1", "lo", BY_ID, false},
	{PLAIN, NULL, NULL, "10.0.0.9:1", 22907, "ok", "lo", "127.0.0.1", "lo", BY_ID, false},
	{PLAIN, NULL, NULL, "10.0.0.9:1", 23003, "ok", "eth0", "10.0.0.5", "eth0", BY_ID, true},
	{PLAIN, NULL, NULL, "192.0.2.1:1", 22902, "ok", "lo", "127.0.0.1", "lo", BY_ID, false},
	{LO, NULL, NULL, "127.0.0.9:1", 22902, "fails", NULL, NULL, "lo", BY_ID, false},
	{DUAL, NULL, NULL, "[fd00::9]:1", 22902, "ok", "eth0", "fd00::5", "eth0", BY_ID, true},
	/* NCCL copies its parts unbounded: what fits, and one character more */
	{DUAL, NULL, NULL, "[fd00::9]:" DIGITS_31, 0, "ok", "eth0", "fd00::5", "eth0", BY_ID, true},
	{DUAL, NULL, NULL, "[fd00::9]:" DIGITS_31 "1", 0, "fails", NULL, NULL, "", BY_ID_OVER,
	 false},
	{DUAL, NULL, NULL, "[fd00::9%abcdefghijklmno]:1", 0, "ok", "eth0", "fd00::5", "eth0", BY_ID,
	 true},
	{DUAL, NULL, NULL, "[fd00::9%abcdefghijklmnop]:1", 0, "fails", NULL, NULL, "", BY_ID_OVER,
	 false},
	{PLAIN, NULL, NULL, "10.0.0.9:" DIGITS_31 DIGITS_31 DIGITS_31, 0, "ok", "eth0", "10.0.0.5",
	 "eth0", BY_ID, true},
	{PLAIN, NULL, NULL, DIGITS_31 DIGITS_31 "12:1", 23004, "fails", NULL, NULL, "", BY_ID_OVER,
	 false},
	{PLAIN, NULL, NULL, DIGITS_31 DIGITS_31 "12:1", 23007, "fails", NULL, NULL, "eth0", BY_ID,
	 false}, /* cuts it */
};

static void set(struct settings *s, const char *name, const char *value)
{
	if (value)
		*LIST_ADD(s->a, &s->nccl) = (struct setting){name, value, "environment"};
}

static const char *text(const char *s) { return s ? s : "(none)"; }

static void guess_one(struct composed *c, const struct guess *g)
{
	struct settings s = {.a = &c->a};
	struct rules_input in = {.inv = &c->inv, .settings = &s, .nccl_version = g->version};
	struct prediction p;
	struct text all;

	set(&s, "NCCL_SOCKET_IFNAME", g->ifname);
	set(&s, "NCCL_SOCKET_FAMILY", g->family);
	set(&s, "NCCL_COMM_ID", g->comm_id);
	rules_nccl.predict(&in, &p);
	text_init(&all, &c->a);
	for (size_t i = 0; i < p.interfaces.n; i++)
		text_addf(&all, "%s%s", i ? " " : "", p.interfaces.v[i]);
	if (!streq(outcome_name(p.outcome), g->outcome) ||
	    !streq(text(p.interface), text(g->interface)) ||
	    !streq(text(p.address), text(g->address)) || !streq(all.s, g->all) ||
	    !streq(p.rule, g->rule) || p.reachable != g->reachable)
		fail_msg("IFNAME %s COMM_ID %s: %s %s %s [%s] %s %d\n%s", text(g->ifname),
			 text(g->comm_id), outcome_name(p.outcome), text(p.interface),
			 text(p.address), all.s, p.rule, p.reachable, g->machine);
	assert_non_null(p.why);
	assert_int_equal(p.interfaces.n, p.addresses.n);
	if (p.outcome == OUTCOME_OK)
		assert_int_equal(p.reachable, p.unreachable_why == NULL);
}

static void choices_are_predicted(void **state)
{
	struct composed c;
	const char *last = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(guesses); i++) {
		composed_keep(&c, &last, guesses[i].machine);
		guess_one(&c, &guesses[i]);
	}
	composed_done(&c);
}

/* Seventeen interfaces: the last one is one too many. */
static void sixteen_are_held(void **state)
{
	struct composed c;
	struct text t;
	AUTO(arena_done) struct arena a = {0};
	struct nccl_choice got;

	(void)state;
	text_init(&t, &a);
	for (int i = 1; i <= 17; i++)
		text_addf(&t, "link %d eth%d\naddr eth%d 10.0.%d.1/24\n", i, i, i, i);
	composed_load(&c, t.s);
	nccl_choose(&c.inv, NULL, 0, NULL, NCCL_VERSION_NEWEST, &got);
	assert_int_equal(got.n, NCCL_MAX_IFS);
	assert_string_equal(got.v[15]->label, "eth16");
	composed_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_matched),
		cmocka_unit_test(lists_are_cut),
		cmocka_unit_test(ports_count_for_devices),
		cmocka_unit_test(conf_lines_are_read),
		cmocka_unit_test(numbers_are_what_strtoll_says),
		cmocka_unit_test(versions_are_codes),
		cmocka_unit_test(choices_are_predicted),
		cmocka_unit_test(sixteen_are_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
