#ifndef TESTS_UNIT_SECGROUP_DOCS_H
#define TESTS_UNIT_SECGROUP_DOCS_H
/* Small documents as `aws ec2 describe-*` prints them, for the tests of probes/secgroup. */
#include "lib/report/json.h"
#include "probes/secgroup/say.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SELF_IN "{'IpProtocol':'-1','UserIdGroupPairs':[{'GroupId':'sg-1'}]}"
#define ANYWHERE "{'IpProtocol':'-1','IpRanges':[{'CidrIp':'0.0.0.0/0'}]}"
#define TCP(from, to, peer) "{'IpProtocol':'tcp','FromPort':" from ",'ToPort':" to "," peer "}"
#define BY_GROUP(id) "'UserIdGroupPairs':[{'GroupId':'" id "'}]"
#define BY_RANGE(cidr) "'IpRanges':[{'CidrIp':'" cidr "'}]"
#define BY_LIST(id) "'PrefixListIds':[{'PrefixListId':'" id "'}]"
#define GROUP(id, in, out)                                                                         \
	"{'GroupId':'" id "','IpPermissions':[" in "],'IpPermissionsEgress':[" out "]}"
#define GROUPS(list) "{'SecurityGroups':[" list "]}"
#define NODE(id, addr, subnet, zone, kind, groups)                                                 \
	"{'InstanceId':'" id "','Placement':{'AvailabilityZone':'" zone                            \
	"'},'NetworkInterfaces':[{'NetworkInterfaceId':'e" id "','InterfaceType':'" kind           \
	"','SubnetId':'" subnet "','Groups':[" groups                                              \
	"],'PrivateIpAddresses':[{'PrivateIpAddress':'" addr "'}]}]}"
#define NODES(list) "{'Reservations':[{'Instances':[" list "]}]}"
#define IN_1 "{'GroupId':'sg-1'}"
#define TWO(kind)                                                                                  \
	NODES(NODE("i-1", "10.0.0.1", "s-a", "z1", kind, IN_1) "," NODE("i-2", "10.0.0.2", "s-a",  \
									"z1", kind, IN_1))
#define APART(kind)                                                                                \
	NODES(NODE("i-1", "10.0.0.1", "s-a", "z1", kind, IN_1) "," NODE("i-2", "10.1.0.2", "s-b",  \
									"z2", kind, IN_1))

#define BESIDE(kind)                                                                               \
	NODES(NODE("i-1", "10.0.0.1", "s-a", "z1", kind, IN_1) "," NODE("i-2", "10.1.0.2", "s-b",  \
									"z1", kind, IN_1))
#define ENTRY(n, egress, proto, ports, action, cidr)                                               \
	"{'RuleNumber':" #n ",'Egress':" #egress ",'Protocol':'" #proto "'" ports                  \
	",'RuleAction':'" #action "','CidrBlock':'" cidr "'}"
#define PORTS(from, to) ",'PortRange':{'From':" #from ",'To':" #to "}"
#define ACL(subnet, entries)                                                                       \
	"{'NetworkAcls':[{'NetworkAclId':'acl-" subnet "','Associations':[{'SubnetId':'" subnet    \
	"'}],'Entries':[" entries "]}]}"
#define OPEN GROUPS(GROUP("sg-1", ANYWHERE, ANYWHERE))
#define ALL_OUT ENTRY(100, true, -1, "", allow, "0.0.0.0/0")

static struct err docs_err;

/* The samples are easier on the eye with single quotes. */

static char *quoted(struct arena *a, const char *text)
{
	char *copy = arena_strdup(a, text);

	for (char *c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	return copy;
}

static bool take_doc(void *arg, const cJSON *doc)
{
	bool known;

	sg_model_add(arg, doc, &known);
	return known;
}

static void read_model(struct arena *a, const char *text, struct sg_model *m)
{
	size_t n;

	*m = (struct sg_model){.a = a};
	text = quoted(a, text);
	if (json_each(text, strlen(text), 24, take_doc, m, &n, &docs_err))
		fail_msg("%s in %s", docs_err.msg, text);
}

/* Of documents without nodes: one that carries all of the groups. */
static inline str_list groups_of(const struct sg_model *m)
{
	str_list all = {0};

	for (size_t i = 0; i < m->groups.n && !m->nodes.n; i++)
		*LIST_ADD(m->a, &all) = m->groups.v[i].id;
	return all;
}

#endif
