/* Security groups: the reader, and the judgement for training. */
#include "lib/report/json.h"
#include "tests/unit/secgroup_docs.h"

#include <fcntl.h>

static struct err err;

/* --- the judgement: documents to findings -------------------------------------------- */

#define ALL_BY_LIST "{'IpProtocol':'-1'," BY_LIST("pl-1") "}"

static const struct {
	const char *name, *text;
	enum sg_efa efa;
	const char *says; /* "check status", one after the other, but for passes */
	size_t missing;
} cases[] = {
	{"self all traffic in and out", GROUPS(GROUP("sg-1", SELF_IN, SELF_IN)), SG_EFA_UNKNOWN, "",
	 0},
	{"the same, EFA", GROUPS(GROUP("sg-1", SELF_IN, SELF_IN)) TWO("efa"), SG_EFA_UNKNOWN, "",
	 0},
	{"anybody's IPv6 is nobody's IPv4",
	 GROUPS(GROUP("sg-1", "{'IpProtocol':'-1','Ipv6Ranges':[{'CidrIpv6':'::/0'}]}", ANYWHERE)),
	 SG_EFA_NO, "cloud.ingress fail cloud.exposed warn ", 1},
	{"nothing", GROUPS(GROUP("sg-1", "", "")), SG_EFA_NO,
	 "cloud.ingress fail cloud.egress fail ", 2},
	{"AWS's default group: enough for TCP", GROUPS(GROUP("sg-1", SELF_IN, ANYWHERE)), SG_EFA_NO,
	 "", 0},
	{"AWS's default group: EFA's trap", GROUPS(GROUP("sg-1", SELF_IN, ANYWHERE)), SG_EFA_YES,
	 "cloud.efa fail ", 1},
	{"the trap, by the interfaces' kind", GROUPS(GROUP("sg-1", SELF_IN, ANYWHERE)) TWO("efa"),
	 SG_EFA_UNKNOWN, "cloud.efa fail ", 1},
	{"the trap where EFA is not known", GROUPS(GROUP("sg-1", SELF_IN, ANYWHERE)),
	 SG_EFA_UNKNOWN, "cloud.efa warn ", 1},
	{"no EFA on the interfaces", GROUPS(GROUP("sg-1", SELF_IN, ANYWHERE)) TWO("interface"),
	 SG_EFA_UNKNOWN, "", 0},
	{"only MASTER_PORT",
	 GROUPS(GROUP("sg-1", TCP("29500", "29500", BY_GROUP("sg-1")), ANYWHERE)), SG_EFA_NO,
	 "cloud.ingress fail ", 1},
	{"all TCP is not all traffic",
	 GROUPS(GROUP("sg-1", TCP("0", "65535", BY_GROUP("sg-1")), ANYWHERE)), SG_EFA_NO,
	 "cloud.ingress warn ", 1},
	{"all TCP, EFA", GROUPS(GROUP("sg-1", TCP("0", "65535", BY_GROUP("sg-1")), SELF_IN)),
	 SG_EFA_YES, "cloud.ingress warn cloud.efa fail ", 1},
	{"the group second in a rule",
	 GROUPS(GROUP(
		 "sg-1",
		 "{'IpProtocol':'-1','UserIdGroupPairs':[{'GroupId':'sg-7'},{'GroupId':'sg-1'}]}",
		 SELF_IN)),
	 SG_EFA_YES, "", 0},
	{"another group is not this one",
	 GROUPS(GROUP("sg-1", "{'IpProtocol':'-1'," BY_GROUP("sg-7") "}", ANYWHERE)), SG_EFA_NO,
	 "cloud.ingress fail ", 1},
	{"a public address of a node",
	 GROUPS(GROUP("sg-1", "{'IpProtocol':'-1'," BY_RANGE("198.51.100.7/32") "}", ANYWHERE)),
	 SG_EFA_NO, "cloud.ingress fail cloud.public warn ", 1},
	{"the office may log in: no public rule for training",
	 GROUPS(GROUP("sg-1", SELF_IN "," TCP("22", "22", BY_RANGE("198.51.100.7/32")), SELF_IN)),
	 SG_EFA_NO, "", 0},
	{"a private range that holds the nodes",
	 GROUPS(GROUP("sg-1", "{'IpProtocol':'-1'," BY_RANGE("10.0.0.0/16") "}", ANYWHERE))
		 TWO("interface"),
	 SG_EFA_UNKNOWN, "", 0},
	{"a private range that does not",
	 GROUPS(GROUP("sg-1", "{'IpProtocol':'-1'," BY_RANGE("10.9.0.0/16") "}", ANYWHERE))
		 TWO("interface"),
	 SG_EFA_UNKNOWN, "cloud.ingress fail ", 1},
	{"open to the world", GROUPS(GROUP("sg-1", ANYWHERE, ANYWHERE)), SG_EFA_NO,
	 "cloud.exposed warn ", 0},
	{"two groups, one does it all",
	 GROUPS(GROUP("sg-1", SELF_IN, SELF_IN) "," GROUP("sg-2", "", "")), SG_EFA_YES,
	 "cloud.groups warn cloud.groups warn ", 0}, /* others may carry sg-2: said, not added */
	{"two groups, no EFA", GROUPS(GROUP("sg-1", SELF_IN, SELF_IN) "," GROUP("sg-2", "", "")),
	 SG_EFA_NO, "", 0},
	{"two groups, half each", GROUPS(GROUP("sg-1", SELF_IN, "") "," GROUP("sg-2", "", SELF_IN)),
	 SG_EFA_NO, "", 0},
	{"other subnets of one zone", GROUPS(GROUP("sg-1", SELF_IN, SELF_IN)) BESIDE("efa"),
	 SG_EFA_UNKNOWN, "cloud.subnet info ", 0},
	{"other zones with EFA", GROUPS(GROUP("sg-1", SELF_IN, SELF_IN)) APART("efa"),
	 SG_EFA_UNKNOWN, "cloud.subnet fail ", 0},
	{"other zones without", GROUPS(GROUP("sg-1", SELF_IN, SELF_IN)) APART("interface"),
	 SG_EFA_UNKNOWN, "cloud.subnet info ", 0},
	{"a group nobody described", GROUPS("") TWO("interface"), SG_EFA_UNKNOWN,
	 "cloud.ingress skip cloud.egress skip ", 0},
	{"flat rules",
	 "{'SecurityGroupRules':[{'GroupId':'sg-1','IsEgress':false,'IpProtocol':'-1','FromPort':-"
	 "1,"
	 "'ToPort':-1,'ReferencedGroupInfo':{'GroupId':'sg-1'}},{'GroupId':'sg-1','IsEgress':true,"
	 "'IpProtocol':'-1','CidrIpv4':'0.0.0.0/0'}]}",
	 SG_EFA_YES, "cloud.efa fail ", 1},
	/* nobody told what is in a prefix list: neither open nor closed */
	{"a prefix list", GROUPS(GROUP("sg-1", ALL_BY_LIST, ANYWHERE)), SG_EFA_NO,
	 "cloud.ingress warn ", 0},
	{"and addresses are known", GROUPS(GROUP("sg-1", ALL_BY_LIST, ANYWHERE)) TWO("interface"),
	 SG_EFA_UNKNOWN, "cloud.ingress warn ", 0},
	{"all TCP by a list", GROUPS(GROUP("sg-1", TCP("0", "65535", BY_LIST("pl-1")), ANYWHERE)),
	 SG_EFA_NO, "cloud.ingress warn ", 0},
	{"one port by the group, the others by a list",
	 GROUPS(GROUP(
		 "sg-1",
		 TCP("29500", "29500", BY_GROUP("sg-1")) "," TCP("1024", "65535", BY_LIST("pl-1")),
		 ANYWHERE)),
	 SG_EFA_NO, "cloud.ingress warn ", 0},
	{"a part of the range by a list",
	 GROUPS(GROUP("sg-1",
		      TCP("1", "39999", BY_GROUP("sg-1")) "," TCP(
			      "40000", "50000", BY_LIST("pl-1")) "," TCP("50001", "65535",
									 BY_GROUP("sg-1")),
		      ANYWHERE)),
	 SG_EFA_NO, "cloud.ingress warn ", 0},
	{"out by a list", GROUPS(GROUP("sg-1", SELF_IN, ALL_BY_LIST)), SG_EFA_NO,
	 "cloud.egress warn ", 0},
	{"no list lets EFA in", GROUPS(GROUP("sg-1", ALL_BY_LIST, SELF_IN)), SG_EFA_YES,
	 "cloud.ingress warn cloud.efa fail ", 1},
	{"a list where EFA is not known", GROUPS(GROUP("sg-1", ALL_BY_LIST, SELF_IN)),
	 SG_EFA_UNKNOWN, "cloud.ingress warn ", 0},
	{"closed whatever is in the list",
	 GROUPS(GROUP("sg-1", TCP("29500", "29500", BY_LIST("pl-1")), ANYWHERE)), SG_EFA_NO,
	 "cloud.ingress fail cloud.prefix_list info ", 1},
	{"a list beside a rule that does it all",
	 GROUPS(GROUP("sg-1", SELF_IN "," ALL_BY_LIST, SELF_IN)), SG_EFA_YES, "", 0},
};

/* What was found, in the order in which it was said. */
static const char *judged(struct arena *a, struct sg_training *t)
{
	char path[] = "/tmp/t_secgroup.XXXXXX";
	int fd = mkstemp(path);
	const struct report_opts o = {.command = "test", .format = "json", .output = path};
	struct report *r = report_new(&o, &err);
	struct text says;
	char buf[1 << 16] = "";
	const cJSON *f;
	cJSON *doc;

	assert_non_null(r);
	sg_train_report(t, r);
	sg_train_data(t, report_data(r));
	(void)!report_end(r, &err);
	(void)close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, buf, sizeof(buf) - 1) > 0);
	(void)close(fd);
	(void)unlink(path);
	doc = cJSON_Parse(buf);
	assert_non_null(doc);
	text_init(&says, a);
	cJSON_ArrayForEach (f, json_get(doc, "findings"))
		if (!streq(json_get_str(f, "status"), "pass"))
			text_addf(&says, "%s %s ", json_get_str(f, "check"),
				  json_get_str(f, "status"));
	cJSON_Delete(doc);
	return says.s;
}

static const struct sg_ask usual = {.ports = {29500, {32768, 60999}}};

static void t_judgement(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct sg_ask ask = usual;
		str_list on;
		struct sg_training t;
		struct sg_model m;
		const char *says;

		ask.efa = cases[i].efa;
		read_model(&a, cases[i].text, &m);
		on = groups_of(&m);
		assert_int_equal(sg_train(&m, &ask, &on, &t, &err), 0);
		says = judged(&a, &t);
		if (!streq(says, cases[i].says) || t.fixes.n != cases[i].missing)
			fail_msg("%s: says '%s', not '%s'; %zu missing", cases[i].name, says,
				 cases[i].says, t.fixes.n);
	}
}

/* --- all of it in one finding: "hang" is said of what is closed -------------------------- */

#define TCP_IN TCP("0", "65535", BY_GROUP("sg-1"))

static const struct {
	const char *name, *text;
	enum sg_efa efa;
	enum status status;
	bool hangs;
	size_t fixes;
} briefs[] = {
	{"all is open", GROUPS(GROUP("sg-1", SELF_IN, SELF_IN)), SG_EFA_YES, ST_PASS, false, 0},
	{"nothing is", GROUPS(GROUP("sg-1", "", "")), SG_EFA_NO, ST_WARN, true, 2},
	{"only MASTER_PORT",
	 GROUPS(GROUP("sg-1", TCP("29500", "29500", BY_GROUP("sg-1")), ANYWHERE)), SG_EFA_NO,
	 ST_WARN, true, 1},
	{"all TCP, no EFA", GROUPS(GROUP("sg-1", TCP_IN, ANYWHERE)), SG_EFA_NO, ST_INFO, false, 0},
	{"all TCP, EFA", GROUPS(GROUP("sg-1", TCP_IN, SELF_IN)), SG_EFA_YES, ST_WARN, true, 1},
	{"EFA's trap", GROUPS(GROUP("sg-1", SELF_IN, ANYWHERE)), SG_EFA_YES, ST_WARN, true, 1},
	{"the trap where EFA is not known", GROUPS(GROUP("sg-1", SELF_IN, ANYWHERE)),
	 SG_EFA_UNKNOWN, ST_INFO, false, 0},
	{"closed one way, EFA not known", GROUPS(GROUP("sg-1", "", ANYWHERE)), SG_EFA_UNKNOWN,
	 ST_WARN, true, 1},
	{"an ssh group beside the one that does it all",
	 GROUPS(GROUP("sg-1", SELF_IN,
		      SELF_IN) "," GROUP("sg-2", TCP("22", "22", BY_RANGE("198.51.100.7/32")), "")),
	 SG_EFA_YES, ST_INFO, false, 0},
	{"a list nobody read", GROUPS(GROUP("sg-1", ALL_BY_LIST, ANYWHERE)), SG_EFA_NO, ST_INFO,
	 false, 0},
	{"a group nobody described", GROUPS("") TWO("interface"), SG_EFA_UNKNOWN, ST_INFO, false,
	 0},
};

static void t_brief(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(briefs); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct sg_ask ask = usual;
		str_list on;
		struct sg_training t;
		struct sg_model m;
		struct finding f;
		size_t rules = 0;

		ask.efa = briefs[i].efa;
		read_model(&a, briefs[i].text, &m);
		on = groups_of(&m);
		assert_int_equal(sg_train(&m, &ask, &on, &t, &err), 0);
		f = (struct finding){.a = &a};
		sg_train_brief(&t, &f);
		for (size_t k = 0; k < f.fix.n; k++)
			rules += strstr(f.fix.v[k], "authorize-security-group-") != NULL;
		if (f.status != briefs[i].status || !strstr(f.message, "hang") == briefs[i].hangs ||
		    rules != briefs[i].fixes)
			fail_msg("%s: %d, %zu rules: %s", briefs[i].name, (int)f.status, rules,
				 f.message);
	}
}

static void t_fix_lines(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	str_list none = {0};
	struct sg_training t;
	struct sg_model m;

	(void)state;
	read_model(&a, GROUPS(GROUP("sg-1", "", "")), &m);
	assert_int_equal(sg_train(&m, &usual, &none, &t, &err), 0);
	assert_int_equal(t.fixes.n, 2);
	assert_string_equal(
		sg_fix_line(&a, &t.fixes.v[0]),
		"aws ec2 authorize-security-group-ingress --group-id sg-1 --ip-permissions "
		"'IpProtocol=-1,UserIdGroupPairs=[{GroupId=sg-1}]'");
	assert_string_equal(
		sg_fix_line(&a, &t.fixes.v[1]),
		"aws ec2 authorize-security-group-egress --group-id sg-1 --ip-permissions "
		"'IpProtocol=-1,UserIdGroupPairs=[{GroupId=sg-1}]'");
}

/* Beside an ssh group that half the account carries, whatever their ids: the cluster's own gets it.
 */
static void t_group_of_the_cluster(void **state)
{
	static const char *const texts[] = {
		GROUPS(GROUP("sg-0", TCP("22", "22", BY_RANGE("0.0.0.0/0")), ANYWHERE) "," GROUP(
			"sg-1", TCP("29500", "29500", BY_GROUP("sg-1")), "")),
		GROUPS(GROUP("sg-1", TCP("29500", "29500", BY_GROUP("sg-1")),
			     "") "," GROUP("sg-2", TCP("22", "22", BY_GROUP("sg-7")), ANYWHERE)),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		AUTO(arena_done) struct arena a = {0};
		str_list on;
		struct sg_training t;
		struct sg_model m;

		read_model(&a, texts[i], &m);
		on = groups_of(&m);
		assert_int_equal(sg_train(&m, &usual, &on, &t, &err), 0);
		assert_int_equal(t.fixes.n, 2); /* in, and out for EFA */
		for (size_t k = 0; k < t.fixes.n; k++) {
			assert_string_equal(t.fixes.v[k].group, "sg-1");
			assert_string_equal(t.fixes.v[k].peer, "sg-1");
		}
	}
}

/* A master with another group than the workers: four rules, each on its own group. */
static void t_two_kinds_of_nodes(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	str_list none = {0};
	struct sg_training t;
	struct sg_model m;

	(void)state;
	read_model(&a,
		   GROUPS(GROUP("sg-1", SELF_IN, SELF_IN) "," GROUP("sg-2", "", ""))
			   NODES(NODE("i-1", "10.0.0.1", "s", "z", "interface", IN_1) "," NODE(
				   "i-2", "10.0.0.2", "s", "z", "interface", "{'GroupId':'sg-2'}")),
		   &m);
	assert_int_equal(sg_train(&m, &usual, &none, &t, &err), 0);
	assert_int_equal(t.classes.n, 2);
	assert_int_equal(t.fixes.n, 4);
	for (size_t i = 0; i < t.fixes.n; i++)
		assert_string_not_equal(t.fixes.v[i].group, t.fixes.v[i].peer);
}

/* A thousand equal nodes are one class. */
static void t_many_nodes(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct sg_training t;
	str_list none = {0};
	struct sg_model m;

	(void)state;
	read_model(
		&a,
		GROUPS(GROUP("sg-1", SELF_IN "," TCP("1", "9", BY_RANGE("10.0.0.7/32")), SELF_IN)),
		&m);
	for (unsigned i = 0; i < 1000; i++) {
		struct sg_node *n = LIST_ADD(&a, &m.nodes);

		n->name = "n";
		*LIST_ADD(&a, &n->groups) = "sg-1";
		*LIST_ADD(&a, &n->addrs) =
			(union addr){.v4 = {AF_INET, 0, {htonl(0x0a000001 + i)}, {0}}};
	}
	assert_int_equal(sg_train(&m, &usual, &none, &t, &err), 0);
	assert_int_equal(t.classes.n, 2); /* and the one that a rule names */
	assert_int_equal(t.classes.v[0].n + t.classes.v[1].n, 1000);
}

/* --- what is not such a document ------------------------------------------------------------ */

static void t_odd_members(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct sg_training t;
	str_list none = {0};
	struct sg_model m;

	(void)state;
	read_model(&a,
		   "{'SecurityGroups':[7,null,{'GroupId':7},{'GroupId':'sg-1; "
		   "reboot'},{'GroupId':'sg-1',"
		   "'IpPermissions':[5,{'IpProtocol':'bogus','IpRanges':[{'CidrIp':'0.0.0.0/0'}]},"
		   "{'IpProtocol':'tcp','FromPort':99999,'ToPort':-7,'IpRanges':[{'CidrIp':'x'},"
		   "{'CidrIp':'10.0.0.0/40'},{}]}],'IpPermissionsEgress':{}}]}",
		   &m);
	assert_int_equal(m.groups.n, 1);
	assert_int_equal(m.groups.v[0].rules.n, 0);
	read_model(&a, "{'SecurityGroups':[]}", &m);
	assert_int_equal(sg_train(&m, &usual, &none, &t, &err), -1);
	for (int i = 0; i < 20; i++)
		*LIST_ADD(&a, &m.groups) = (struct sg_group){.id = "sg-1", .is_described = true};
	assert_int_equal(sg_train(&m, &usual, &none, &t, &err), -1);
	assert_int_equal(err.kind, ERR_USAGE);
}

/* An account has many groups, and a node a few of them, of one VPC: they are not put together
 * unless somebody says so. */
static void t_who_carries_them(void **state)
{
#define OF(id, vpc)                                                                                \
	"{'GroupId':'" id "','VpcId':'" vpc "','IpPermissions':[" SELF_IN                          \
	"],'IpPermissionsEgress':[" ANYWHERE "]}"
	static const struct {
		const char *text;
		bool named, taken;
	} rows[] = {
		{GROUPS(OF("sg-1", "vpc-1")), false, true},
		{GROUPS(OF("sg-1", "vpc-1") "," OF("sg-2", "vpc-1")), false, false},
		{GROUPS(OF("sg-1", "vpc-1") "," OF("sg-2", "vpc-1")), true, true},
		{GROUPS(OF("sg-1", "vpc-1") "," OF("sg-2", "vpc-2")), true, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};
		struct sg_training t;
		struct sg_model m;
		str_list on = {0};

		read_model(&a, rows[i].text, &m);
		if (rows[i].named)
			on = groups_of(&m);
		assert_int_equal(sg_train(&m, &usual, &on, &t, &err), rows[i].taken ? 0 : -1);
		if (!rows[i].taken)
			assert_int_equal(err.kind, ERR_USAGE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_judgement),		cmocka_unit_test(t_brief),
		cmocka_unit_test(t_fix_lines),		cmocka_unit_test(t_group_of_the_cluster),
		cmocka_unit_test(t_two_kinds_of_nodes), cmocka_unit_test(t_many_nodes),
		cmocka_unit_test(t_odd_members),	cmocka_unit_test(t_who_carries_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
