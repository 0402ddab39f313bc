/*
 * Azure: `az network nsg list` and `az network nic list`, flat as the command
 * prints them or with the "properties" of the API.
 */
#include "probes/walls/read.h"

#include "lib/report/json.h"

#include <strings.h>

static const cJSON *at(const cJSON *o, const char *key)
{
	const cJSON *v = json_get(o, key);

	return v ? v : json_get(json_get(o, "properties"), key);
}

static const char *text_at(const cJSON *o, const char *key)
{
	return cJSON_GetStringValue(at(o, key));
}

static const char *id_at(struct walls *w, const cJSON *o)
{
	return walls_id(w, walls_word(w, json_get_str(o, "id")));
}

/* --- one end of a rule ---------------------------------------------------------------------- */

/* A service tag other than these is some part of Azure or of the internet: no node. */
static void add_prefix(struct walls *w, struct wall_whom *who, const char *text)
{
	if (!text)
		return;
	if (streq(text, "*") || !strcasecmp(text, "any"))
		who->is_all = true;
	else if (!strcasecmp(text, "VirtualNetwork"))
		who->is_network = true;
	else if (!strcasecmp(text, "Internet"))
		who->is_internet = true;
	else
		(void)walls_add_range(w, who, text);
}

static void read_end(struct walls *w, const cJSON *o, const char *end, struct wall_whom *ret)
{
	const cJSON *one;

	add_prefix(w, ret, text_at(o, arena_printf(w->a, "%sAddressPrefix", end)));
	cJSON_ArrayForEach (one, at(o, arena_printf(w->a, "%sAddressPrefixes", end)))
		add_prefix(w, ret, cJSON_GetStringValue(one));
	cJSON_ArrayForEach (one, at(o, arena_printf(w->a, "%sApplicationSecurityGroups", end))) {
		const char *id = id_at(w, one);

		if (id)
			*LIST_ADD(w->a, &ret->labels) = arena_printf(w->a, "asg:%s", id);
	}
}

/* @ret_all: any port. What could not be read leaves neither. */
static void read_ports(struct walls *w, const cJSON *o, const char *end, port_spans *ret,
		       bool *ret_all)
{
	const char *text = text_at(o, arena_printf(w->a, "%sPortRange", end));
	const cJSON *one;

	*ret_all = text && streq(text, "*");
	(void)walls_add_ports(w, ret, text);
	cJSON_ArrayForEach (one, at(o, arena_printf(w->a, "%sPortRanges", end))) {
		*ret_all |= cJSON_IsString(one) && streq(one->valuestring, "*");
		(void)walls_add_ports(w, ret, cJSON_GetStringValue(one));
	}
	if (*ret_all)
		ret->n = 0;
}

static void read_rule(struct walls *w, size_t wall, const cJSON *o, bool is_builtin)
{
	const char *direction = text_at(o, "direction"), *access = text_at(o, "access");
	const cJSON *priority = at(o, "priority");
	bool any_port = false, from_any = false;
	struct wall_rule r = {.name = walls_word(w, json_get_str(o, "name")) ?: "NAME",
			      .is_builtin = is_builtin};
	struct wall_reach x = {.proto = walls_protocol(text_at(o, "protocol"))};

	w->all.v[wall].left_out++;
	if (!direction || !access || !cJSON_IsNumber(priority) || x.proto < -1 ||
	    priority->valuedouble < 0 || priority->valuedouble > 65535)
		return;
	r.is_egress = !strcasecmp(direction, "Outbound");
	r.is_allow = !strcasecmp(access, "Allow");
	r.priority = (unsigned)priority->valuedouble;
	read_end(w, o, r.is_egress ? "source" : "destination", &r.owner);
	read_end(w, o, r.is_egress ? "destination" : "source", &r.peer);
	read_ports(w, o, "destination", &x.ports, &any_port);
	read_ports(w, o, "source", &r.from_ports, &from_any);
	*LIST_ADD(w->a, &r.reaches) = x;
	if ((!any_port && !x.ports.n) || (!from_any && !r.from_ports.n))
		return;
	walls_add_rule(w, &w->all.v[wall], &r);
	w->all.v[wall].left_out--;
}

/* --- groups --------------------------------------------------------------------------------- */

/* What every group ends with: some queries leave it out. */
static void add_builtin(struct walls *w, size_t wall)
{
	for (int out = 0; out < 2; out++) {
		struct wall_rule r = {.is_egress = out, .is_builtin = true, .priority = 65000};

		*LIST_ADD(w->a, &r.reaches) = (struct wall_reach){.proto = -1};
		r.name = out ? "AllowVnetOutBound" : "AllowVnetInBound";
		r.is_allow = r.owner.is_network = r.peer.is_network = true;
		walls_add_rule(w, &w->all.v[wall], &r);
		r.name = out ? "DenyAllOutBound" : "DenyAllInBound";
		r.priority = 65500;
		r.is_allow = r.owner.is_network = r.peer.is_network = false;
		r.owner.is_all = r.peer.is_all = true;
		walls_add_rule(w, &w->all.v[wall], &r);
	}
}

static void read_group(struct walls *w, const cJSON *o, const char *id)
{
	const cJSON *builtin = at(o, "defaultSecurityRules"), *one;
	const size_t n = w->all.n;
	struct wall *wall = walls_make(w, id);
	const size_t index = (size_t)(wall - w->all.v);

	if (w->all.n == n) /* in a second document */
		return;
	wall->is_described = true;
	wall->name = walls_word(w, json_get_str(o, "name")) ?: walls_tail(w, id) ?: id;
	wall->place = walls_word(w, json_get_str(o, "resourceGroup"))
			      ?: walls_part(w, json_get_str(o, "id"), "resourceGroups");
	cJSON_ArrayForEach (one, at(o, "subnets")) {
		const char *subnet = id_at(w, one);

		if (subnet)
			*LIST_ADD(w->a, &wall->subnets) = subnet;
	}
	cJSON_ArrayForEach (one, at(o, "securityRules"))
		read_rule(w, index, one, false);
	cJSON_ArrayForEach (one, builtin)
		read_rule(w, index, one, true);
	if (!cJSON_GetArraySize(builtin))
		add_builtin(w, index);
}

/* --- interfaces ----------------------------------------------------------------------------- */

/* "/subscriptions/.../virtualNetworks/ml/subnets/gpu" -> "/subscriptions/.../virtualnetworks/ml" */
static const char *network_of(struct walls *w, const char *subnet)
{
	const char *end = subnet ? strstr(subnet, "/subnets/") : NULL;

	return end ? arena_strndup(w->a, subnet, (size_t)(end - subnet)) : NULL;
}

static void read_address(struct walls *w, struct wall_node *n, const cJSON *o)
{
	const char *text = text_at(o, "privateIPAddress") ?: text_at(o, "privateIpAddress");
	const cJSON *one;
	union addr a;

	if (text && !addr_parse(text, &a))
		*LIST_ADD(w->a, &n->addrs) = a;
	if (!n->subnet)
		n->subnet = id_at(w, at(o, "subnet"));
	cJSON_ArrayForEach (one, at(o, "applicationSecurityGroups")) {
		const char *id = id_at(w, one);

		if (id)
			*LIST_ADD(w->a, &n->labels) = arena_printf(w->a, "asg:%s", id);
	}
}

/* Those of a scale set are all called alike: "set/3/nic". */
static const char *name_of(struct walls *w, const cJSON *o)
{
	const char *id = json_get_str(o, "id"), *name = walls_tail(w, json_get_str(o, "name"));
	const char *set = walls_part(w, id, "virtualMachineScaleSets");
	const char *number = walls_part(w, id, "virtualMachines");

	return set && number && name ? arena_printf(w->a, "%s/%s/%s", set, number, name) : name;
}

static void read_card(struct walls *w, const cJSON *o, const cJSON *addresses)
{
	const char *name = name_of(w, o), *group;
	struct wall_node *n;
	const cJSON *one;

	if (!name || cJSON_IsObject(at(o, "privateEndpoint"))) {
		w->loose++;
		return;
	}
	n = LIST_ADD(w->a, &w->nodes);
	n->name = name;
	n->machine = id_at(w, at(o, "virtualMachine"));
	n->machine_name = walls_tail(w, json_get_str(at(o, "virtualMachine"), "id"));
	cJSON_ArrayForEach (one, addresses)
		read_address(w, n, one);
	n->network = network_of(w, n->subnet);
	group = id_at(w, at(o, "networkSecurityGroup"));
	if (group)
		*LIST_ADD(w->a, &n->walls) = group;
}

/* --- subnets: `az network vnet list`, or one of them ------------------------------------------ */

static void read_subnet(struct walls *w, const cJSON *o)
{
	struct wall_subnet *s;
	const char *id = id_at(w, o);

	if (!id)
		return;
	s = LIST_ADD(w->a, &w->subnets);
	*s = (struct wall_subnet){id, id_at(w, at(o, "networkSecurityGroup"))};
}

static bool read_network(struct walls *w, const cJSON *o)
{
	const cJSON *one;

	if (!cJSON_IsObject(at(o, "addressSpace")) || !walls_are_of(w, WALLS_AZURE))
		return false;
	cJSON_ArrayForEach (one, at(o, "subnets"))
		read_subnet(w, one);
	return true;
}

bool walls_read_azure(struct walls *w, const cJSON *o)
{
	const cJSON *addresses = at(o, "ipConfigurations");
	const bool is_group = cJSON_IsArray(at(o, "securityRules"));
	const bool is_card = cJSON_IsArray(addresses) && json_get_str(o, "id");
	const char *id = id_at(w, o);

	if (read_network(w, o))
		return true;
	if ((!is_group && !is_card) || (is_group && !id) || !walls_are_of(w, WALLS_AZURE))
		return false;
	if (is_group)
		read_group(w, o, id);
	else
		read_card(w, o, addresses);
	return true;
}
