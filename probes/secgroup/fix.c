/* The rules that are missing, as commands to paste and as facts for --json. */
#include "probes/secgroup/say.h"

#include "lib/report/json.h"

#include <math.h>

const char *sg_fix_line(struct arena *a, const struct sg_fix *f)
{
	return arena_printf(a,
			    "aws ec2 authorize-security-group-%s --group-id %s --ip-permissions "
			    "'IpProtocol=-1,UserIdGroupPairs=[{GroupId=%s}]'",
			    f->is_egress ? "egress" : "ingress", f->group, f->peer);
}

void sg_fix_print(struct finding *f, struct sg_fix fix)
{
	finding_fix(f, "%s", sg_fix_line(f->a, &fix));
}

/* --- data.audit ------------------------------------------------------------------ */

static void put_open(const struct sg_training *t, const struct sg_pair *p, int proto, cJSON *o,
		     const char *key)
{
	AUTO(arena_done) struct arena a = {0};
	struct port_span all = {1, 65535};
	port_spans closed = {0}, open = {0};
	struct sg_flow f = p->flow;

	f.proto = proto;
	sg_closed_ports(t->m, &f, SG_STAGES, all, &closed);
	port_spans_invert(&a, &closed, all, &open);
	json_str(o, key, port_spans_text(&a, &open));
}

static void put_pair(const struct sg_training *t, const struct sg_pair *p, cJSON *o)
{
	bool unread = p->unread_out || p->unread_in;
	enum sg_stage s = 0;

	json_str(o, "from", p->from->node->name);
	json_str(o, "to", p->to->node->name);
	while (s < SG_STAGES && !p->closed[s].n)
		s++;
	if (p->is_ip) {
		if (s < SG_STAGES || !unread)
			json_bool(o, "trains", s == SG_STAGES);
		json_str(o, "stopped_by", s < SG_STAGES ? sg_stage_name(s) : NULL);
		put_open(t, p, SG_TCP, o, "tcp");
		put_open(t, p, SG_UDP, o, "udp");
	}
	if (!unread)
		json_bool(o, "all_traffic", p->all_out && p->all_in);
	json_bool(o, "efa_rules", p->efa_out && p->efa_in);
}

static void put_class(const struct sg_training *t, const struct sg_class *c, cJSON *o)
{
	unsigned idle_s = sg_node_idle_s(t->m, c->node);
	cJSON *names = json_array(o, "names"), *groups;
	struct addr_text text;

	for (size_t i = 0; i < c->names.n; i++)
		json_push_str(names, c->names.v[i]);
	groups = json_array(o, "groups");
	for (size_t i = 0; i < c->node->groups.n; i++)
		json_push_str(groups, c->node->groups.v[i]);
	json_str(o, "address", c->node->addrs.n ? addr_print(&c->node->addrs.v[0], &text) : NULL);
	json_str(o, "kind", c->node->kind);
	json_str(o, "instance_type", c->node->instance_type);
	json_str(o, "subnet", c->node->subnet);
	json_str(o, "zone", c->node->zone);
	json_num(o, "idle_s", idle_s ? idle_s : NAN);
}

void sg_train_data(const struct sg_training *t, cJSON *data)
{
	cJSON *audit = json_object(data, "audit"), *list = json_array(audit, "groups"), *o;

	for (size_t i = 0; i < t->m->groups.n; i++) {
		o = json_push_object(list);
		json_str(o, "id", t->m->groups.v[i].id);
		json_str(o, "name", t->m->groups.v[i].name);
		json_num(o, "rules", (double)t->m->groups.v[i].rules.n);
	}
	list = json_array(audit, "nodes");
	for (size_t i = 0; i < t->classes.n; i++)
		put_class(t, &t->classes.v[i], json_push_object(list));
	list = json_array(audit, "pairs");
	for (size_t i = 0; i < t->pairs.n; i++)
		put_pair(t, &t->pairs.v[i], json_push_object(list));
	list = json_array(audit, "missing");
	for (size_t i = 0; i < t->fixes.n; i++) {
		o = json_push_object(list);
		json_str(o, "group", t->fixes.v[i].group);
		json_str(o, "direction", t->fixes.v[i].is_egress ? "egress" : "ingress");
		json_str(o, "peer", t->fixes.v[i].peer);
		json_str(o, "protocol", "-1");
	}
}
