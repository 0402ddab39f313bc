/*
 * Google Cloud: `gcloud compute firewall-rules list`, `instances list`, and
 * `instances network-interfaces get-effective-firewalls`, which says whether
 * policies of the organisation or the network decide beside the rules.
 */
#include "probes/walls/read.h"

#include "lib/report/json.h"

enum { PRIORITY = 1000, PRIORITY_MOST = 65535 }; /* what a rule has that names none */

/* ".../compute/v1/projects/p/global/networks/n" -> "projects/p/global/networks/n": one name for
 * what the API's versions and hosts write differently. */
static const char *network_id(struct walls *w, const char *url)
{
	const char *at = url ? strstr(url, "projects/") : NULL;

	return walls_word(w, at ? at : url);
}

void walls_name_gcp(struct walls *w, struct wall *wall)
{
	wall->name = walls_tail(w, wall->id) ?: wall->id;
	wall->place = walls_part(w, arena_printf(w->a, "/%s", wall->id), "projects");
	wall->lets_out = true;
}

static void add_labels(struct walls *w, str_list *l, const char *kind, const cJSON *names)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, names) {
		const char *word = walls_word(w, cJSON_GetStringValue(one));

		if (word)
			*LIST_ADD(w->a, l) = arena_printf(w->a, "%s:%s", kind, word);
	}
}

/* Whether it names anything, even what could not be read: then it is not for all. */
static bool add_ranges(struct walls *w, struct wall_whom *who, const cJSON *texts, bool *left_out)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, texts)
		*left_out |= !walls_add_range(w, who, cJSON_GetStringValue(one));
	return cJSON_GetArraySize(texts) > 0;
}

static void add_reaches(struct walls *w, struct wall_rule *r, const cJSON *list, bool *left_out)
{
	const cJSON *one, *port;

	cJSON_ArrayForEach (one, list) {
		const cJSON *ports = json_get(one, "ports");
		struct wall_reach x = {.proto = walls_protocol(json_get_str(one, "IPProtocol"))};

		cJSON_ArrayForEach (port, ports)
			*left_out |= walls_add_ports(w, &x.ports, cJSON_GetStringValue(port)) < 0;
		if (x.proto >= -1 && (x.ports.n || !cJSON_GetArraySize(ports)))
			*LIST_ADD(w->a, &r->reaches) = x;
		else
			*left_out = true;
	}
}

static void read_ends(struct walls *w, const cJSON *o, struct wall_rule *r, bool *left_out)
{
	const char *far = r->is_egress ? "destinationRanges" : "sourceRanges";
	const char *near = r->is_egress ? "sourceRanges" : "destinationRanges";
	bool named = add_ranges(w, &r->peer, json_get(o, far), left_out);

	add_labels(w, &r->peer.labels, "tag", json_get(o, "sourceTags"));
	add_labels(w, &r->peer.labels, "account", json_get(o, "sourceServiceAccounts"));
	r->peer.is_all = !named && !r->peer.labels.n;
	r->owner.is_all = !add_ranges(w, &r->owner, json_get(o, near), left_out);
	add_labels(w, &r->targets, "tag", json_get(o, "targetTags"));
	add_labels(w, &r->targets, "account", json_get(o, "targetServiceAccounts"));
}

static void read_rule(struct walls *w, const cJSON *o, const char *network)
{
	const cJSON *denied = json_get(o, "denied");
	const char *direction = json_get_str(o, "direction");
	const int priority = json_get_int(o, "priority", PRIORITY);
	struct wall *wall = walls_make(w, network);
	bool left_out = false;
	struct wall_rule r = {
		.name = walls_word(w, json_get_str(o, "name")) ?: "NAME",
		.is_egress = direction && streq(direction, "EGRESS"),
		.is_allow = !denied,
		.priority =
			priority >= 0 && priority <= PRIORITY_MOST ? (unsigned)priority : PRIORITY,
	};

	walls_name_gcp(w, wall);
	read_ends(w, o, &r, &left_out);
	add_reaches(w, &r, denied ? denied : json_get(o, "allowed"), &left_out);
	wall->left_out += left_out;
	if (cJSON_IsTrue(json_get(o, "disabled")))
		*LIST_ADD(w->a, &wall->disabled) = r;
	else if (r.reaches.n)
		walls_add_rule(w, wall, &r);
}

static void add_address(struct walls *w, struct wall_node *n, const char *text)
{
	union addr at;

	if (text && !addr_parse(text, &at))
		*LIST_ADD(w->a, &n->addrs) = at;
}

/* By the kind of its card: regular networks have none of those. */
static bool is_rdma(struct walls *w, const cJSON *card, const char *network)
{
	const char *kind = json_get_str(card, "nicType"), *name = walls_tail(w, network);

	if (!kind || (!streq(kind, "MRDMA") && !streq(kind, "IRDMA")))
		return false;
	if (!is_among(name, w->rdma.v, w->rdma.n))
		*LIST_ADD(w->a, &w->rdma) = name;
	return true;
}

static void read_card(struct walls *w, const cJSON *machine, const cJSON *card, size_t of)
{
	const char *network = network_id(w, json_get_str(card, "network"));
	const char *name = walls_word(w, json_get_str(machine, "name"));
	const char *nic = walls_word(w, json_get_str(card, "name"));
	struct wall_node *n;
	const cJSON *one;

	if (!network || !name || is_rdma(w, card, network))
		return;
	n = LIST_ADD(w->a, &w->nodes);
	n->machine = walls_word(w, json_get_str(machine, "selfLink"));
	if (!n->machine)
		n->machine = arena_printf(w->a, "%s/%s", json_text(machine, "zone"), name);
	n->machine_name = name;
	n->name = of > 1 && nic ? arena_printf(w->a, "%s/%s", name, nic) : name;
	n->network = network;
	n->subnet = network_id(w, json_get_str(card, "subnetwork"));
	add_address(w, n, json_get_str(card, "networkIP"));
	add_address(w, n, json_get_str(card, "ipv6Address"));
	add_labels(w, &n->labels, "tag", json_get(json_get(machine, "tags"), "items"));
	cJSON_ArrayForEach (one, json_get(machine, "serviceAccounts")) {
		const char *mail = walls_word(w, json_get_str(one, "email"));

		if (mail)
			*LIST_ADD(w->a, &n->labels) = arena_printf(w->a, "account:%s", mail);
	}
}

static void read_machine(struct walls *w, const cJSON *o)
{
	const cJSON *cards = json_get(o, "networkInterfaces"), *one;

	cJSON_ArrayForEach (one, cards)
		read_card(w, o, one, (size_t)cJSON_GetArraySize(cards));
}

/* Does a policy decide anything, or leave all to those behind it? */
static bool decides(const cJSON *policy, bool *allows)
{
	const cJSON *one;
	bool any = false;

	cJSON_ArrayForEach (one, json_get(policy, "rules")) {
		const char *action = json_get_str(one, "action");

		if (!action || streq(action, "goto_next") ||
		    cJSON_IsTrue(json_get(one, "disabled")))
			continue;
		any = true;
		*allows |= !streq(action, "deny");
	}
	return any;
}

static void read_policies(struct walls *w, const cJSON *list)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, list) {
		const char *name =
			json_get_str(one, "shortName") ?: json_get_str(one, "displayName");

		name = walls_word(w, name ?: json_get_str(one, "name")) ?: "a policy";
		if (decides(one, &w->unread_allow) && !is_among(name, w->unread.v, w->unread.n))
			*LIST_ADD(w->a, &w->unread) = name;
	}
}

bool walls_read_gcp(struct walls *w, const cJSON *o)
{
	const char *network = network_id(w, json_get_str(o, "network"));
	const bool is_rule = network && (cJSON_IsArray(json_get(o, "allowed")) ||
					 cJSON_IsArray(json_get(o, "denied")));
	const bool is_machine =
		cJSON_IsArray(json_get(o, "networkInterfaces")) && json_get_str(o, "machineType");
	const bool is_effective = cJSON_IsArray(json_get(o, "firewalls")) ||
				  cJSON_IsArray(json_get(o, "firewallPolicys"));

	if ((!is_rule && !is_machine && !is_effective) || !walls_are_of(w, WALLS_GCP))
		return false;
	if (is_rule)
		read_rule(w, o, network);
	else if (is_machine)
		read_machine(w, o);
	w->is_whole |= is_effective && !cJSON_GetArraySize(json_get(o, "firewalls"));
	read_policies(w, json_get(o, "firewallPolicys"));
	return true;
}
