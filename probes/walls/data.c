/* data.audit: the same keys as for AWS's groups (probes/secgroup/fix.c). */
#include "lib/report/json.h"
#include "probes/walls/train.h"

static void put_node(const struct wall_class *c, cJSON *o)
{
	cJSON *names = json_array(o, "names"), *groups = json_array(o, "groups");
	const struct wall_node *n = c->node;
	struct addr_text text;

	for (size_t i = 0; i < c->nodes.n; i++)
		json_push_str(names, c->nodes.v[i]->name);
	for (size_t i = 0; i < n->labels.n; i++)
		json_push_str(groups, wall_label_word(n->labels.v[i]));
	json_str(o, "address", n->addrs.n ? addr_print(&n->addrs.v[0], &text) : NULL);
	json_str(o, "subnet", n->subnet);
	json_str(o, "network", n->network);
}

static void put_open(const struct walls_training *t, const struct wall_pair *p, int proto, cJSON *o,
		     const char *key)
{
	const struct port_span all = {1, 65535};
	port_spans open = {0};

	walls_open(t->w, &p->flow, proto, all, &open);
	json_str(o, key, port_spans_text(t->w->a, &open));
}

static void put_pair(const struct walls_training *t, const struct wall_pair *p, cJSON *o)
{
	json_str(o, "from", p->from->node->name);
	json_str(o, "to", p->to->node->name);
	if (p->stopped_by || (p->from->doubt == WALL_KNOWN && p->to->doubt == WALL_KNOWN))
		json_bool(o, "trains", !p->stopped_by);
	json_str(o, "stopped_by", p->stopped_by);
	put_open(t, p, WALLS_TCP, o, "tcp");
	put_open(t, p, WALLS_UDP, o, "udp");
}

void walls_train_data(const struct walls_training *t, cJSON *data)
{
	cJSON *audit = json_object(data, "audit"), *list, *o;

	json_str(audit, "cloud", t->w->cloud == WALLS_GCP ? "gcp" : "azure");
	list = json_array(audit, "groups");
	for (size_t i = 0; i < t->w->all.n; i++) {
		o = json_push_object(list);
		json_str(o, "id", t->w->all.v[i].id);
		json_str(o, "name", t->w->all.v[i].name);
		json_num(o, "rules", (double)t->w->all.v[i].rules.n);
	}
	list = json_array(audit, "nodes");
	for (size_t i = 0; i < t->classes.n; i++)
		put_node(&t->classes.v[i], json_push_object(list));
	list = json_array(audit, "pairs");
	for (size_t i = 0; i < t->pairs.n; i++)
		put_pair(t, &t->pairs.v[i], json_push_object(list));
	list = json_array(audit, "missing");
	for (size_t i = 0; i < t->cases.n; i++) {
		const struct wall_case *c = &t->cases.v[i];
		str_list lines;
		cJSON *commands;

		if (!c->closed.n || wall_case_is_open_question(t, c))
			continue;
		lines = walls_mend(t, c->view.wall, c->view.is_egress, t->w->a);
		o = json_push_object(list);
		json_str(o, "group", c->view.wall->name);
		json_str(o, "direction", c->view.is_egress ? "egress" : "ingress");
		json_str(o, "ports", port_spans_text(t->w->a, &c->closed));
		json_str(o, "stopped_by", c->rule ? c->rule->name : NULL);
		commands = json_array(o, "commands");
		for (size_t k = 0; k < lines.n; k++)
			json_push_str(commands, lines.v[k]);
	}
}
