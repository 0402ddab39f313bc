/* Instances and their network interfaces: who carries which groups, and where. */
#include "probes/secgroup/read.h"

#include "lib/report/json.h"

const struct sg_group *sg_group_find(const struct sg_model *m, const char *id)
{
	for (size_t i = 0; i < m->groups.n; i++)
		if (streq(m->groups.v[i].id, id))
			return &m->groups.v[i];
	return NULL;
}

bool sg_node_has_group(const struct sg_node *n, const char *id)
{
	for (size_t i = 0; i < n->groups.n; i++)
		if (streq(n->groups.v[i], id))
			return true;
	return false;
}

bool sg_node_has_efa(const struct sg_node *n) { return n->kind && starts_with(n->kind, "efa"); }

unsigned sg_node_idle_s(const struct sg_model *m, const struct sg_node *n)
{
	for (size_t i = 0; n->instance_type && !n->idle_s && i < m->types.n; i++)
		if (streq(m->types.v[i].name, n->instance_type))
			return m->types.v[i].idle_s;
	return n->idle_s;
}

static void add_addr(struct sg_model *m, addr_list *to, const cJSON *o, const char *key)
{
	const char *text = json_get_str(o, key);
	union addr at;

	if (text && strlen(text) < 64 && !addr_parse(text, &at))
		*LIST_ADD(m->a, to) = at;
}

static void read_groups(struct sg_model *m, struct sg_node *n, const cJSON *list)
{
	const cJSON *one;
	const char *id;

	cJSON_ArrayForEach (one, list) {
		id = sg_read_word(m, one, "GroupId");
		if (id && !sg_node_has_group(n, id))
			*LIST_ADD(m->a, &n->groups) = id;
	}
}

static void read_addrs(struct sg_model *m, struct sg_node *n, const cJSON *card)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, json_get(card, "PrivateIpAddresses")) {
		add_addr(m, &n->addrs, one, "PrivateIpAddress");
		add_addr(m, &n->public_addrs, json_get(one, "Association"), "PublicIp");
	}
	if (!n->addrs.n)
		add_addr(m, &n->addrs, card, "PrivateIpAddress");
	if (!n->public_addrs.n)
		add_addr(m, &n->public_addrs, json_get(card, "Association"), "PublicIp");
	cJSON_ArrayForEach (one, json_get(card, "Ipv6Addresses"))
		add_addr(m, &n->addrs, one, "Ipv6Address");
}

static struct sg_node *read_card(struct sg_model *m, const cJSON *card)
{
	struct sg_node *n = LIST_ADD(m->a, &m->nodes);

	n->eni = sg_read_word(m, card, "NetworkInterfaceId");
	n->kind = sg_read_word(m, card, "InterfaceType");
	n->subnet = sg_read_word(m, card, "SubnetId");
	n->vpc = sg_read_word(m, card, "VpcId");
	n->zone = sg_read_word(m, card, "AvailabilityZone");
	n->idle_s = sg_read_seconds(json_get(card, "ConnectionTrackingConfiguration"),
				    "TcpEstablishedTimeout");
	read_groups(m, n, json_get(card, "Groups"));
	read_addrs(m, n, card);
	return n;
}

void sg_read_type(struct sg_model *m, const cJSON *o)
{
	const char *name = sg_read_word(m, o, "InstanceType");
	const cJSON *net = json_get(o, "NetworkInfo");

	if (name)
		*LIST_ADD(m->a, &m->types) = (struct sg_type){
			name, sg_read_seconds(json_get(net, "ConnectionTrackingConfiguration"),
					      "DefaultTcpEstablishedTimeout")};
}

/* With describe-instances in hand too, its entry is the better one. */
static bool is_known(const struct sg_model *m, const cJSON *card)
{
	const char *id = json_get_str(card, "NetworkInterfaceId");

	for (size_t i = 0; id && i < m->nodes.n; i++)
		if (m->nodes.v[i].eni && streq(m->nodes.v[i].eni, id))
			return true;
	return false;
}

void sg_read_interface(struct sg_model *m, const cJSON *o)
{
	struct sg_node *n;

	if (is_known(m, o))
		return;
	n = read_card(m, o);
	n->instance = sg_read_word(m, json_get(o, "Attachment"), "InstanceId");
	n->name = n->eni ? n->eni : "an interface";
}

static bool is_gone(const cJSON *instance)
{
	const char *state = json_get_str(json_get(instance, "State"), "Name");

	return state && (streq(state, "terminated") || streq(state, "shutting-down"));
}

static void read_instance_card(struct sg_model *m, const cJSON *o, const cJSON *card, bool only)
{
	struct sg_node *n = read_card(m, card);

	n->instance = sg_read_word(m, o, "InstanceId");
	n->name = n->instance ? n->instance : "an instance";
	if (!only && n->eni)
		n->name = arena_printf(m->a, "%s/%s", n->name, n->eni);
	n->instance_type = sg_read_word(m, o, "InstanceType");
	n->zone = sg_read_word(m, json_get(o, "Placement"), "AvailabilityZone");
	n->subnet = n->subnet ? n->subnet : sg_read_word(m, o, "SubnetId");
	n->vpc = n->vpc ? n->vpc : sg_read_word(m, o, "VpcId");
	if (!n->groups.n)
		read_groups(m, n, json_get(o, "SecurityGroups"));
	if (only && !n->addrs.n && !(n->kind && streq(n->kind, "efa-only")))
		add_addr(m, &n->addrs, o, "PrivateIpAddress");
	if (only && !n->public_addrs.n)
		add_addr(m, &n->public_addrs, o, "PublicIpAddress");
}

static void read_instance(struct sg_model *m, const cJSON *o)
{
	const cJSON *cards = json_get(o, "NetworkInterfaces"), *card;
	int n = cJSON_GetArraySize(cards);

	if (is_gone(o))
		return;
	if (!n)
		read_instance_card(m, o, o, true);
	cJSON_ArrayForEach (card, cards)
		if (!is_known(m, card))
			read_instance_card(m, o, card, n == 1);
}

void sg_read_reservation(struct sg_model *m, const cJSON *o)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, json_get(o, "Instances"))
		read_instance(m, one);
}
