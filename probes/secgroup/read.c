/*
 * From JSON to the model. The names are those of the API's own model, as the
 * aws command prints them; lib/cloud/ec2_xml.c makes the same names out of the
 * API's XML, where numbers and truth values are text.
 */
#include "probes/secgroup/model.h"

#include "lib/core/units.h"
#include "lib/report/json.h"
#include "probes/secgroup/read.h"

static const char *word(struct sg_model *m, const cJSON *o, const char *key)
{
	const char *s = json_get_str(o, key);

	/* Printed in commands to paste: letters, digits and what ids, ranges and types have. */
	if (!s || !*s || strlen(s) > 128 ||
	    s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:")] ||
	    *s == '-')
		return NULL;
	return arena_strdup(m->a, s);
}

static const char *free_text(struct sg_model *m, const cJSON *o, const char *key)
{
	const char *s = json_get_str(o, key);

	return s && *s && strlen(s) <= 255 ? arena_strdup(m->a, s) : NULL;
}

static int number(const cJSON *o, const char *key, int otherwise)
{
	const cJSON *v = json_get(o, key);
	uint64_t n;

	if (cJSON_IsNumber(v) && v->valuedouble >= -1 && v->valuedouble <= 65535)
		return (int)v->valuedouble;
	if (cJSON_IsString(v) && !parse_uint(v->valuestring, &n) && n <= 65535)
		return (int)n;
	return otherwise;
}

static bool is_true(const cJSON *o, const char *key)
{
	const char *s = json_get_str(o, key);

	return cJSON_IsTrue(json_get(o, key)) || (s && streq(s, "true"));
}

/* "tcp", "6", 6, "-1", -1; -2: not a protocol. */
static int protocol(const cJSON *o, const char *key)
{
	static const struct {
		const char *name;
		int number;
	} names[] = {{"-1", -1}, {"all", -1}, {"tcp", 6}, {"udp", 17}, {"icmp", 1}, {"icmpv6", 58}};
	const char *s = json_get_str(o, key);

	for (size_t i = 0; s && i < ARRAY_LEN(names); i++)
		if (strcasecmp(s, names[i].name) == 0)
			return names[i].number;
	return number(o, key, -2) <= 255 ? number(o, key, -2) : -2;
}

static struct sg_group *group_make(struct sg_model *m, const char *id)
{
	struct sg_group *g = (struct sg_group *)sg_group_find(m, id);

	if (!g) {
		g = LIST_ADD(m->a, &m->groups);
		g->id = id;
	}
	return g;
}

/* Ports and protocol of a permission, with what they mean where they say nothing. */
static bool read_reach(const cJSON *o, struct sg_rule *r)
{
	r->proto = protocol(o, "IpProtocol");
	r->first = number(o, "FromPort", -1);
	r->last = number(o, "ToPort", r->proto == 1 || r->proto == 58 ? -1 : r->first);
	/* EC2 ignores ports with any other protocol. */
	if (r->proto != 6 && r->proto != 17 && r->proto != 1 && r->proto != 58)
		r->first = r->last = -1;
	if (r->first < 0 && r->proto != 1 && r->proto != 58)
		r->last = -1;
	return r->proto >= -1;
}

static void add_rule(struct sg_model *m, struct sg_group *g, struct sg_rule r, enum sg_peer peer,
		     const char *text)
{
	r.peer = peer;
	r.peer_text = text;
	if (text && (peer != SG_CIDR || !addr_parse_range(text, &r.net, &r.bits)))
		*LIST_ADD(m->a, &g->rules) = r;
}

static void read_permission(struct sg_model *m, struct sg_group *g, const cJSON *p, bool is_egress)
{
	static const struct {
		const char *list, *key;
		enum sg_peer peer;
	} kinds[] = {
		{"IpRanges", "CidrIp", SG_CIDR},
		{"Ipv6Ranges", "CidrIpv6", SG_CIDR},
		{"UserIdGroupPairs", "GroupId", SG_GROUP},
		{"PrefixListIds", "PrefixListId", SG_PREFIX_LIST},
	};
	struct sg_rule r = {.is_egress = is_egress};
	const cJSON *one;

	if (!read_reach(p, &r))
		return;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		cJSON_ArrayForEach (one, json_get(p, kinds[i].list))
			add_rule(m, g, r, kinds[i].peer, word(m, one, kinds[i].key));
}

static void read_group(struct sg_model *m, const cJSON *o)
{
	const char *id = word(m, o, "GroupId");
	struct sg_group *g = id ? group_make(m, id) : NULL;
	const cJSON *p;

	if (!g || g->is_described) /* the same group in a second document */
		return;
	g->name = free_text(m, o, "GroupName");
	g->vpc = word(m, o, "VpcId");
	g->is_described = true;
	cJSON_ArrayForEach (p, json_get(o, "IpPermissions"))
		read_permission(m, g, p, false);
	cJSON_ArrayForEach (p, json_get(o, "IpPermissionsEgress"))
		read_permission(m, g, p, true);
}

/* One of describe-security-group-rules: already flat. */
static void read_flat_rule(struct sg_model *m, const cJSON *o)
{
	const char *id = word(m, o, "GroupId"), *text;
	struct sg_rule r = {.is_egress = is_true(o, "IsEgress")};
	struct sg_group *g = id ? group_make(m, id) : NULL;

	if (!g)
		return;
	g->is_described = true;
	if (!read_reach(o, &r))
		return;
	if ((text = word(m, o, "CidrIpv4")) || (text = word(m, o, "CidrIpv6")))
		add_rule(m, g, r, SG_CIDR, text);
	else if ((text = word(m, json_get(o, "ReferencedGroupInfo"), "GroupId")))
		add_rule(m, g, r, SG_GROUP, text);
	else
		add_rule(m, g, r, SG_PREFIX_LIST, word(m, o, "PrefixListId"));
}

static void read_entry(struct sg_model *m, struct sg_acl *acl, const cJSON *o)
{
	const cJSON *ports = json_get(o, "PortRange"), *icmp = json_get(o, "IcmpTypeCode");
	const char *action = json_get_str(o, "RuleAction"), *cidr = word(m, o, "CidrBlock");
	int n = number(o, "RuleNumber", -1);
	struct sg_acl_entry e = {
		.is_egress = is_true(o, "Egress"),
		.is_allow = action && streq(action, "allow"),
		.number = (unsigned)n,
		.proto = protocol(o, "Protocol"),
		.first = ports ? number(ports, "From", -1) : number(icmp, "Type", -1),
		.last = ports ? number(ports, "To", -1) : number(icmp, "Code", -1),
	};
	size_t at = acl->entries.n;

	cidr = cidr ? cidr : word(m, o, "Ipv6CidrBlock");
	if (n < 0 || e.proto < -1 || !cidr || addr_parse_range(cidr, &e.net, &e.bits))
		return;
	(void)LIST_ADD(m->a, &acl->entries);
	for (; at && acl->entries.v[at - 1].number > e.number; at--)
		acl->entries.v[at] = acl->entries.v[at - 1];
	acl->entries.v[at] = e;
}

static void read_acl(struct sg_model *m, const cJSON *o)
{
	const char *id = word(m, o, "NetworkAclId"), *subnet;
	struct sg_acl *acl;
	const cJSON *one;

	for (size_t i = 0; id && i < m->acls.n; i++)
		if (streq(m->acls.v[i].id, id))
			return;
	if (!id)
		return;
	acl = LIST_ADD(m->a, &m->acls);
	acl->id = id;
	cJSON_ArrayForEach (one, json_get(o, "Associations")) {
		subnet = word(m, one, "SubnetId");
		if (subnet)
			*LIST_ADD(m->a, &acl->subnets) = subnet;
	}
	cJSON_ArrayForEach (one, json_get(o, "Entries"))
		read_entry(m, acl, one);
}

const char *sg_read_word(struct sg_model *m, const cJSON *o, const char *key)
{
	return word(m, o, key);
}

unsigned sg_read_seconds(const cJSON *o, const char *key)
{
	enum { MOST = 10000000 };
	const cJSON *v = json_get(o, key);
	uint64_t n;

	if (cJSON_IsNumber(v) && v->valuedouble >= 1 && v->valuedouble <= MOST)
		return (unsigned)v->valuedouble;
	return cJSON_IsString(v) && !parse_uint(v->valuestring, &n) && n <= MOST ? (unsigned)n : 0;
}

void sg_model_add(struct sg_model *m, const cJSON *doc, bool *ret_known)
{
	static const struct {
		const char *key;
		void (*read)(struct sg_model *m, const cJSON *o);
	} lists[] = {
		{"SecurityGroups", read_group},
		{"SecurityGroupRules", read_flat_rule},
		{"NetworkAcls", read_acl},
		{"Reservations", sg_read_reservation},
		{"NetworkInterfaces", sg_read_interface},
		{"InstanceTypes", sg_read_type},
	};
	const cJSON *one;

	*ret_known = false;
	m->types_asked |= json_get(doc, "InstanceTypes") != NULL;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		const cJSON *list = json_get(doc, lists[i].key);

		*ret_known |= list != NULL;
		cJSON_ArrayForEach (one, list)
			lists[i].read(m, one);
	}
}
