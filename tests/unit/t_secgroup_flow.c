/* What EC2 does with a packet: groups, network ACLs, ports, addresses. */
#include "tests/unit/secgroup_docs.h"

static struct sg_node node_of(struct arena *a, const char *addr, const char *subnet,
			      const char *groups)
{
	struct sg_node n = {.name = addr, .subnet = subnet};

	assert_int_equal(addr_parse(addr, LIST_ADD(a, &n.addrs)), 0);
	for (; *groups; groups += strcspn(groups, ",") + (strchr(groups, ',') != NULL))
		*LIST_ADD(a, &n.groups) = arena_strndup(a, groups, strcspn(groups, ","));
	return n;
}

static void t_packets(void **state)
{
	static const struct {
		const char *name, *rules, *to, *to_groups;
		int proto;
		uint16_t port;
		enum sg_stage stopped;
	} rows[] = {
		{"group, private", GROUPS(GROUP("sg-1", SELF_IN, SELF_IN)), "10.0.0.2", "sg-1", 6,
		 9, SG_STAGES},
		{"no egress", GROUPS(GROUP("sg-1", SELF_IN, "")), "10.0.0.2", "sg-1", 6, 9,
		 SG_EGRESS},
		{"no ingress", GROUPS(GROUP("sg-1", "", SELF_IN)), "10.0.0.2", "sg-1", 6, 9,
		 SG_INGRESS},
		{"peer lacks the group", GROUPS(GROUP("sg-1", SELF_IN, SELF_IN)), "10.0.0.2",
		 "sg-2", 6, 9, SG_EGRESS},
		{"port below", GROUPS(GROUP("sg-1", TCP("10", "20", BY_GROUP("sg-1")), ANYWHERE)),
		 "10.0.0.2", "sg-1", 6, 9, SG_INGRESS},
		{"first port", GROUPS(GROUP("sg-1", TCP("10", "20", BY_GROUP("sg-1")), ANYWHERE)),
		 "10.0.0.2", "sg-1", 6, 10, SG_STAGES},
		{"last port", GROUPS(GROUP("sg-1", TCP("10", "20", BY_GROUP("sg-1")), ANYWHERE)),
		 "10.0.0.2", "sg-1", 6, 20, SG_STAGES},
		{"tcp is not udp",
		 GROUPS(GROUP("sg-1", TCP("10", "20", BY_GROUP("sg-1")), ANYWHERE)), "10.0.0.2",
		 "sg-1", 17, 10, SG_INGRESS},
		{"number of a protocol",
		 GROUPS(GROUP("sg-1",
			      "{'IpProtocol':'6','FromPort':9,'ToPort':9," BY_GROUP("sg-1") "}",
			      ANYWHERE)),
		 "10.0.0.2", "sg-1", 6, 9, SG_STAGES},
		{"ICMP by type",
		 GROUPS(GROUP("sg-1",
			      "{'IpProtocol':'icmp','FromPort':3,'ToPort':-1," BY_GROUP("sg-1") "}",
			      ANYWHERE)),
		 "10.0.0.2", "sg-1", 1, 3, SG_STAGES},
		{"another type",
		 GROUPS(GROUP("sg-1",
			      "{'IpProtocol':'icmp','FromPort':3,'ToPort':-1," BY_GROUP("sg-1") "}",
			      ANYWHERE)),
		 "10.0.0.2", "sg-1", 1, 8, SG_INGRESS},
		{"IPv4's everywhere is not IPv6's", GROUPS(GROUP("sg-1", SELF_IN, ANYWHERE)),
		 "fd00::2", "sg-1", 6, 9, SG_EGRESS},
		{"IPv6's everywhere",
		 GROUPS(GROUP("sg-1", SELF_IN,
			      "{'IpProtocol':'-1','Ipv6Ranges':[{'CidrIpv6':'::/0'}]}")),
		 "fd00::2", "sg-1", 6, 9, SG_STAGES},
		{"an ACL in the same subnet", OPEN ACL("s-a", ""), "10.0.0.2", "sg-1", 6, 9,
		 SG_STAGES},
		{"an ACL without entries", OPEN ACL("s-b", ""), "10.1.0.2", "sg-1", 6, 9,
		 SG_ACL_IN},
		{"an ACL that forgot answers",
		 OPEN ACL("s-b", ENTRY(100, false, 6, PORTS(9, 9), allow, "10.0.0.0/8")),
		 "10.1.0.2", "sg-1", 6, 9, SG_ACL_BACK_OUT},
		{"UDP needs none",
		 OPEN ACL("s-b", ENTRY(100, false, 17, PORTS(9, 9), allow, "10.0.0.0/8")),
		 "10.1.0.2", "sg-1", 17, 9, SG_STAGES},
		{"part of the answers",
		 OPEN ACL("s-b", ENTRY(100, false, -1, "", allow, "0.0.0.0/0") "," ENTRY(
					 100, true, 6, PORTS(32768, 60998), allow, "0.0.0.0/0")),
		 "10.1.0.2", "sg-1", 6, 9, SG_ACL_BACK_OUT},
		{"all of them",
		 OPEN ACL("s-b", ENTRY(100, false, -1, "", allow, "0.0.0.0/0") "," ENTRY(
					 100, true, 6, PORTS(32768, 60999), allow, "0.0.0.0/0")),
		 "10.1.0.2", "sg-1", 6, 9, SG_STAGES},
		{"the lowest number decides",
		 OPEN ACL("s-b",
			  ALL_OUT "," ENTRY(200, false, -1, "", deny, "10.0.0.0/24") "," ENTRY(
				  90, false, 6, PORTS(9, 9), allow, "10.0.0.0/24")),
		 "10.1.0.2", "sg-1", 6, 9, SG_STAGES},
		{"and denies",
		 OPEN ACL("s-b",
			  ALL_OUT "," ENTRY(90, false, -1, "", deny, "10.0.0.0/24") "," ENTRY(
				  200, false, 6, PORTS(9, 9), allow, "10.0.0.0/24")),
		 "10.1.0.2", "sg-1", 6, 9, SG_ACL_IN},
		{"answers into the sender's subnet",
		 OPEN ACL("s-a",
			  ALL_OUT "," ENTRY(100, false, 6, PORTS(1, 1024), allow, "0.0.0.0/0")),
		 "10.1.0.2", "sg-1", 6, 9, SG_ACL_BACK_IN},
		{"out of the sender's",
		 OPEN ACL("s-a", ENTRY(1, false, -1, "", allow, "0.0.0.0/0")), "10.1.0.2", "sg-1",
		 6, 9, SG_ACL_OUT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(arena_done) struct arena a = {0};
		bool v6 = strchr(rows[i].to, ':') != NULL;
		const char *subnet = starts_with(rows[i].to, "10.1.") ? "s-b" : "s-a";
		struct sg_node from = node_of(&a, v6 ? "fd00::1" : "10.0.0.1", "s-a", "sg-1");
		struct sg_node to = node_of(&a, rows[i].to, subnet, rows[i].to_groups);
		struct sg_flow f = {.from = &from,
				    .to = &to,
				    .src = from.addrs.v,
				    .dst = to.addrs.v,
				    .proto = rows[i].proto,
				    .port = rows[i].port,
				    .first = 32768,
				    .last = 60999};
		struct sg_model m;
		enum sg_stage got;

		read_model(&a, rows[i].rules, &m);
		got = sg_stopped_at(&m, &f);
		if (got != rows[i].stopped)
			fail_msg("%s: stopped at %d, not %d", rows[i].name, (int)got,
				 (int)rows[i].stopped);
	}
}

/* A rule that names a group means private addresses: a public one does not match. */
static void t_public_address(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct sg_node from = node_of(&a, "10.0.0.1", "s", "sg-1"),
		       to = node_of(&a, "10.0.0.2", "s", "sg-1");
	struct sg_flow f = {.from = &from, .to = &to, .src = from.addrs.v, .proto = 6, .port = 9};
	struct sg_model m;
	union addr public;

	(void)state;
	assert_int_equal(addr_parse("198.51.100.7", &public), 0);
	f.dst = &public;
	read_model(&a, GROUPS(GROUP("sg-1", SELF_IN, SELF_IN)), &m);
	assert_int_equal(sg_stopped_at(&m, &f), SG_EGRESS);
	f.dst = to.addrs.v;
	f.src = &public;
	assert_int_equal(sg_stopped_at(&m, &f), SG_INGRESS);
	f.is_efa = true;
	f.proto = SG_ALL_TRAFFIC;
	assert_int_equal(sg_stopped_at(&m, &f), SG_STAGES);
}

static void t_spans(void **state)
{
	AUTO(arena_done) struct arena a = {0};
	struct sg_node n = node_of(&a, "10.0.0.1", "s", "sg-1");
	struct sg_flow f = {.from = &n, .to = &n, .src = n.addrs.v, .dst = n.addrs.v, .proto = 6};
	port_spans closed = {0}, open = {0};
	struct port_span all = {1, 65535};
	struct sg_model m;

	(void)state;
	read_model(
		&a,
		GROUPS(GROUP(
			"sg-1",
			TCP("1", "1", BY_GROUP("sg-1")) "," TCP("20", "30", BY_GROUP("sg-1")) "," TCP("25", "40", BY_RANGE("10.0.0.0/8")) "," TCP(
				"41", "41",
				BY_RANGE(
					"10.0.0.0/8")) "," TCP("50", "60",
							       BY_RANGE(
								       "11.0.0.0/8")) "," TCP("6553"
											      "5",
											      "6553"
											      "5",
											      BY_GROUP(
												      "sg-1")),
			ANYWHERE)),
		&m);
	sg_closed_ports(&m, &f, SG_STAGES, all, &closed);
	assert_string_equal(port_spans_text(&a, &closed), "2-19,42-65534");
	port_spans_invert(&a, &closed, all, &open);
	assert_string_equal(port_spans_text(&a, &open), "1,20-41,65535");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_packets),
		cmocka_unit_test(t_public_address),
		cmocka_unit_test(t_spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
