#include "probes/secgroup/say.h"

#include "lib/core/text.h"

enum { MOST_CLASSES = 256 };

/* --- classes ------------------------------------------------------------------ */

static const char *joined(struct arena *a, const str_list *l)
{
	struct text t;

	text_init(&t, a);
	for (size_t i = 0; i < l->n; i++)
		text_addf(&t, "%s%s", i ? "," : "", l->v[i]);
	return t.s;
}

static int by_text(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Which of the ranges that any rule names is this node in? */
static void add_ranges(const struct sg_model *m, const struct sg_node *n, struct text *t)
{
	for (size_t i = 0; i < m->groups.n; i++)
		for (size_t k = 0; k < m->groups.v[i].rules.n; k++) {
			const struct sg_rule *r = &m->groups.v[i].rules.v[k];

			if (r->peer == SG_CIDR && r->bits)
				text_addn(t,
					  addr_in_subnet(&n->addrs.v[0], &r->net, r->bits) ? "1"
											   : "0",
					  1);
		}
	for (size_t i = 0; i < m->acls.n; i++)
		for (size_t k = 0; k < m->acls.v[i].entries.n; k++) {
			const struct sg_acl_entry *x = &m->acls.v[i].entries.v[k];

			if (x->bits)
				text_addn(t,
					  addr_in_subnet(&n->addrs.v[0], &x->net, x->bits) ? "1"
											   : "0",
					  1);
		}
}

static const char *signature(const struct sg_model *m, const struct sg_node *n, const char *groups)
{
	struct text t;

	text_init(&t, m->a);
	text_addf(&t, "%s|%s|%s|%s|", groups, n->subnet ? n->subnet : "", n->zone ? n->zone : "",
		  n->kind ? n->kind : "");
	for (size_t i = 0; i < n->addrs.n; i++)
		text_add(&t, n->addrs.v[i].sa.sa_family == AF_INET6 ? "6" : "4");
	if (n->addrs.n)
		add_ranges(m, n, &t);
	return t.s;
}

static const char *undescribed(const struct sg_model *m, const struct sg_node *n)
{
	for (size_t i = 0; i < n->groups.n; i++) {
		const struct sg_group *g = sg_group_find(m, n->groups.v[i]);

		if (!g || !g->is_described)
			return n->groups.v[i];
	}
	return NULL;
}

static void classify(struct sg_training *t, struct sg_node *n, str_list *signatures)
{
	struct arena *a = t->m->a;
	const char *groups, *sign;
	struct sg_class *c;

	if (n->groups.n)
		qsort(n->groups.v, n->groups.n, sizeof(*n->groups.v), by_text);
	groups = joined(a, &n->groups);
	sign = signature(t->m, n, groups);
	for (size_t i = 0; i < signatures->n; i++)
		if (streq(signatures->v[i], sign)) {
			t->classes.v[i].n++;
			*LIST_ADD(a, &t->classes.v[i].names) = n->name;
			*LIST_ADD(a, &t->classes.v[i].nodes) = n;
			return;
		}
	*LIST_ADD(a, signatures) = sign;
	c = LIST_ADD(a, &t->classes);
	*c = (struct sg_class){
		.node = n, .n = 1, .groups = groups, .unknown = undescribed(t->m, n)};
	*LIST_ADD(a, &c->names) = n->name;
	*LIST_ADD(a, &c->nodes) = n;
}

/* --- who is a node --------------------------------------------------------------- */

static bool has_any(const struct sg_node *n, const str_list *groups)
{
	for (size_t i = 0; i < groups->n; i++)
		if (sg_node_has_group(n, groups->v[i]))
			return true;
	return !groups->n;
}

/* Which of them is on a node nobody said. */
static int too_many(const struct sg_model *m, struct err *e)
{
	err_set(e, ERR_USAGE, "%zu groups are described, and no node that carries them",
		m->groups.n);
	return err_hint(e, "name those that are on the nodes: --group %s --group ...",
			m->groups.v[0].id);
}

/* An interface is of one VPC, and so are its groups. */
static int check_vpcs(const struct sg_model *m, const str_list *groups, struct err *e)
{
	const struct sg_group *first = NULL;

	for (size_t i = 0; i < groups->n; i++) {
		const struct sg_group *g = sg_group_find(m, groups->v[i]);

		if (!g || !g->vpc)
			continue;
		first = first ?: g;
		if (streq(first->vpc, g->vpc))
			continue;
		err_set(e, ERR_USAGE, "%s is of %s and %s of %s: no interface has both", first->id,
			first->vpc, g->id, g->vpc);
		return err_hint(e, "name the groups that are on the nodes: --group %s", first->id);
	}
	return 0;
}

/* Nobody described a node: there is one with these groups, and another like it. */
static int imagine(struct sg_model *m, const str_list *groups, struct err *e)
{
	struct sg_node *n;

	if (!groups->n && !m->groups.n)
		return err_set(e, ERR_SYS, "no security group is described there");
	if (!groups->n && m->groups.n > 1)
		return too_many(m, e);
	if (check_vpcs(m, groups, e))
		return -1;
	n = LIST_ADD(m->a, &m->nodes);
	n->name = "a node";
	for (size_t i = 0; i < groups->n; i++)
		*LIST_ADD(m->a, &n->groups) = groups->v[i];
	if (!groups->n)
		*LIST_ADD(m->a, &n->groups) = m->groups.v[0].id;
	return 0;
}

/* --- pairs ------------------------------------------------------------------------ */

static const union addr *same_family(const struct sg_node *n, int family)
{
	for (size_t i = 0; i < n->addrs.n; i++)
		if (n->addrs.v[i].sa.sa_family == family)
			return &n->addrs.v[i];
	return NULL;
}

static bool flow_between(const struct sg_training *t, const struct sg_pair *p, struct sg_flow *ret)
{
	const struct sg_node *from = p->from->node, *to = p->to->node;

	*ret = (struct sg_flow){.from = from,
				.to = to,
				.proto = SG_TCP,
				.first = t->ask.ports.ephemeral.first,
				.last = t->ask.ports.ephemeral.last};
	if (!from->addrs.n && !to->addrs.n) /* not known, unless they can have none */
		return !(from->kind && streq(from->kind, "efa-only"));
	for (size_t i = 0; i < from->addrs.n && !ret->dst; i++) {
		ret->src = &from->addrs.v[i];
		ret->dst = same_family(to, ret->src->sa.sa_family);
	}
	return ret->dst != NULL;
}

static enum sg_efa uses_efa(const struct sg_training *t, const struct sg_pair *p)
{
	const struct sg_node *a = p->from->node, *b = p->to->node;

	if (t->ask.efa != SG_EFA_UNKNOWN)
		return t->ask.efa;
	if (!a->kind || !b->kind)
		return SG_EFA_UNKNOWN;
	return sg_node_has_efa(a) && sg_node_has_efa(b) ? SG_EFA_YES : SG_EFA_NO;
}

/* Of the ports that training needs. */
static port_spans closed_at(const struct sg_training *t, const struct sg_flow *f,
			    enum sg_stage stage)
{
	struct port_span needs[2];
	size_t n = port_needs_spans(&t->ask.ports, needs);
	port_spans closed = {0};

	for (size_t i = 0; i < n; i++)
		sg_closed_ports(t->m, f, stage, needs[i], &closed);
	return closed;
}

static void judge_ports(const struct sg_training *t, struct sg_pair *p)
{
	struct sg_flow trusting = p->flow;

	trusting.trusts_lists = true;
	for (enum sg_stage s = 0; s < SG_STAGES; s++)
		p->closed[s] = closed_at(t, &trusting, s);
	p->unread_out = !p->closed[SG_EGRESS].n && closed_at(t, &p->flow, SG_EGRESS).n;
	p->unread_in = !p->closed[SG_INGRESS].n && closed_at(t, &p->flow, SG_INGRESS).n;
}

static void judge_pair(const struct sg_training *t, struct sg_pair *p)
{
	struct sg_flow f;

	p->is_ip = flow_between(t, p, &p->flow);
	if (p->is_ip)
		judge_ports(t, p);
	f = p->flow;
	f.proto = SG_ALL_TRAFFIC;
	p->all_out = sg_passes(t->m, &f, SG_EGRESS);
	p->all_in = sg_passes(t->m, &f, SG_INGRESS);
	f.is_efa = true;
	p->efa_out = sg_passes(t->m, &f, SG_EGRESS);
	p->efa_in = sg_passes(t->m, &f, SG_INGRESS);
	p->efa = uses_efa(t, p);
}

static bool is_one_machine(const struct sg_class *x, const struct sg_class *y)
{
	return x->n == 1 && y->n == 1 && x->node->instance && y->node->instance &&
	       streq(x->node->instance, y->node->instance);
}

static void judge_pairs(struct sg_training *t)
{
	for (size_t i = 0; i < t->classes.n; i++)
		for (size_t k = 0; k < t->classes.n; k++) {
			const struct sg_class *x = &t->classes.v[i], *y = &t->classes.v[k];
			bool pair = x == y ? x->n > 1 || t->classes.n == 1 : !is_one_machine(x, y);
			struct sg_pair *p;

			if (!pair)
				continue;
			p = LIST_ADD(t->m->a, &t->pairs);
			p->from = x;
			p->to = y;
			judge_pair(t, p);
		}
}

int sg_train(struct sg_model *m, const struct sg_ask *ask, const str_list *groups,
	     struct sg_training *ret, struct err *e)
{
	str_list signatures = {0};
	size_t n = 0;

	*ret = (struct sg_training){.m = m, .ask = *ask};
	for (size_t i = 0; i < m->nodes.n; i++)
		n += m->nodes.v[i].groups.n && has_any(&m->nodes.v[i], groups);
	if (!n && imagine(m, groups, e))
		return -1;
	for (size_t i = 0; i < m->nodes.n; i++)
		if (m->nodes.v[i].groups.n && has_any(&m->nodes.v[i], groups))
			classify(ret, &m->nodes.v[i], &signatures);
	if (ret->classes.n > MOST_CLASSES) {
		err_set(e, ERR_SYS, "the rules treat %zu kinds of nodes differently, over %d",
			ret->classes.n, MOST_CLASSES);
		return err_hint(e, "name the groups that matter: --group sg-...");
	}
	judge_pairs(ret);
	sg_find_sides(ret);
	return 0;
}
