#include "probes/walls/say.h"

#include "lib/core/interrupt.h"
#include "lib/core/text.h"

#include <strings.h>

enum { MOST_CLASSES = 256 };

/* --- classes: nodes that no rule tells apart ---------------------------------------------------
 */

static void add_bit(struct text *t, bool bit) { text_addn(t, bit ? "1" : "0", 1); }

static bool is_target(const struct wall_rule *r, const struct wall_node *n)
{
	for (size_t i = 0; i < r->targets.n; i++)
		if (wall_node_has(n, r->targets.v[i]))
			return true;
	return !r->targets.n;
}

static const char *signature(const struct walls *w, const struct wall_node *n)
{
	const union addr *at = n->addrs.n ? &n->addrs.v[0] : NULL;
	struct text t;

	text_init(&t, w->a);
	text_addf(&t, "%s|", n->network ? n->network : "");
	for (size_t i = 0; i < n->walls.n; i++)
		text_addf(&t, "%s|", n->walls.v[i]);
	for (size_t i = 0; i < n->addrs.n; i++)
		text_add(&t, n->addrs.v[i].sa.sa_family == AF_INET6 ? "6" : "4");
	for (size_t i = 0; i < w->all.n; i++)
		for (size_t k = 0; k < w->all.v[i].rules.n; k++) {
			const struct wall_rule *r = &w->all.v[i].rules.v[k];

			add_bit(&t, is_target(r, n));
			add_bit(&t, wall_whom_is(&r->owner, n, at));
			add_bit(&t, wall_whom_is(&r->peer, n, at));
		}
	return t.s;
}

/* A network without a document, a group that is only named, a subnet of which nobody said whether
 * it has a group. */
static enum wall_doubt doubt(const struct walls *w, const struct wall_node *n, const char **ret_id)
{
	for (size_t i = 0; i < n->walls.n; i++) {
		const struct wall *wall = wall_find(w, n->walls.v[i]);

		*ret_id = n->walls.v[i];
		if (!wall || !wall->is_described)
			return WALL_UNDESCRIBED;
	}
	*ret_id = n->subnet;
	return walls_knows_subnet(w, n) ? WALL_KNOWN : WALL_SUBNET;
}

static void classify(struct walls_training *t, const struct wall_node *n, str_list *signatures)
{
	const char *sign = signature(t->w, n);
	struct wall_class *c = NULL;

	for (size_t i = 0; i < signatures->n && !c; i++)
		if (streq(signatures->v[i], sign))
			c = &t->classes.v[i];
	if (!c) {
		*LIST_ADD(t->w->a, signatures) = sign;
		c = LIST_ADD(t->w->a, &t->classes);
		*c = (struct wall_class){.node = n};
		c->doubt = doubt(t->w, n, &c->doubt_id);
	}
	*LIST_ADD(t->w->a, &c->nodes) = n;
}

/* In any letters: Azure's names are the same in all. */
static bool is_named(const char *name, const str_list *groups)
{
	for (size_t i = 0; i < groups->n; i++)
		if (!strcasecmp(name, groups->v[i]))
			return true;
	return false;
}

static bool is_meant(const struct walls *w, const struct wall_node *n, const str_list *groups)
{
	for (size_t i = 0; i < n->labels.n; i++)
		if (is_named(wall_label_word(n->labels.v[i]), groups))
			return true;
	for (size_t i = 0; i < n->walls.n; i++) {
		const struct wall *wall = wall_find(w, n->walls.v[i]);

		if (wall && is_named(wall->name, groups))
			return true;
	}
	return !groups->n;
}

/* --- pairs -------------------------------------------------------------------------------------
 */

bool walls_same(const char *x, const char *y) { return x == y || (x && y && streq(x, y)); }

/* Addresses of one family; where neither's are known, some private ones. */
static bool flow_between(const struct walls_training *t, struct wall_pair *p)
{
	const struct wall_node *from = p->from->node, *to = p->to->node;

	p->flow = (struct wall_flow){.from = from, .to = to, .source = t->needs.ephemeral};
	if (!from->addrs.n || !to->addrs.n)
		return true;
	for (size_t i = 0; i < from->addrs.n; i++)
		for (size_t k = 0; k < to->addrs.n; k++)
			if (from->addrs.v[i].sa.sa_family == to->addrs.v[k].sa.sa_family) {
				p->flow.src = &from->addrs.v[i];
				p->flow.dst = &to->addrs.v[k];
				return true;
			}
	return false;
}

static port_spans closed_by(const struct walls_training *t, const struct wall_view *v)
{
	struct port_span needs[2];
	size_t n = port_needs_spans(&t->needs, needs);
	port_spans closed = {0};

	for (size_t i = 0; i < n; i++)
		wall_closed(v, needs[i], t->w->a, &closed);
	return closed;
}

static bool same_spans(const port_spans *x, const port_spans *y)
{
	if (x->n != y->n)
		return false;
	for (size_t i = 0; i < x->n; i++)
		if (x->v[i].first != y->v[i].first || x->v[i].last != y->v[i].last)
			return false;
	return true;
}

static bool alike(const struct wall_case *x, const struct wall_case *y)
{
	return x->view.wall == y->view.wall && x->view.is_egress == y->view.is_egress &&
	       x->rule == y->rule && x->udp == y->udp && x->icmp == y->icmp &&
	       same_spans(&x->closed, &y->closed);
}

static struct wall_case *case_like(struct walls_training *t, const struct wall_case *c)
{
	struct wall_case *new;

	for (size_t i = 0; i < t->cases.n; i++)
		if (alike(&t->cases.v[i], c))
			return &t->cases.v[i];
	new = LIST_ADD(t->w->a, &t->cases);
	*new = *c;
	return new;
}

enum { ROCE = 4791 }; /* and as good as any port of UDP */

static void judge_wall(struct walls_training *t, struct wall_pair *p, const struct wall *wall,
		       bool is_egress)
{
	const union addr *src = p->flow.src;
	struct wall_case c = {.view = wall_look(wall, &p->flow, is_egress, t->w->a)}, *mine;

	c.closed = closed_by(t, &c.view);
	if (c.closed.n) {
		c.rule = wall_ask(&c.view, WALLS_TCP, c.closed.v[0].first).rule;
		p->stopped_by = p->stopped_by ?: is_egress ? "egress" : "ingress";
	}
	c.udp = wall_ask(&c.view, WALLS_UDP, ROCE).passes;
	c.icmp = wall_ask(&c.view, src && src->sa.sa_family == AF_INET6 ? 58 : 1, 0).passes;
	mine = case_like(t, &c);
	*LIST_ADD(t->w->a, &mine->pairs) = p;
}

static void judge_side(struct walls_training *t, struct wall_pair *p, bool is_egress)
{
	const struct wall_node *owner = is_egress ? p->from->node : p->to->node;

	for (size_t i = 0; i < owner->walls.n; i++) {
		const struct wall *wall = wall_find(t->w, owner->walls.v[i]);

		if (wall && wall->is_described)
			judge_wall(t, p, wall, is_egress);
	}
}

static bool is_one_machine(const struct wall_class *x, const struct wall_class *y)
{
	return x->nodes.n == 1 && y->nodes.n == 1 && x->node->machine &&
	       walls_same(x->node->machine, y->node->machine);
}

/* The only one of its network may have another like it. */
static bool is_alone(const struct walls_training *t, const struct wall_class *x)
{
	for (size_t i = 0; i < t->classes.n; i++)
		if (&t->classes.v[i] != x &&
		    walls_same(t->classes.v[i].node->network, x->node->network))
			return false;
	return true;
}

static bool is_pair(const struct walls_training *t, const struct wall_class *x,
		    const struct wall_class *y)
{
	if (x == y)
		return x->nodes.n > 1 || is_alone(t, x);
	return walls_same(x->node->network, y->node->network) && !is_one_machine(x, y);
}

/* First all of them: a case keeps a pointer to one. */
static void find_pairs(struct walls_training *t)
{
	for (size_t i = 0; i < t->classes.n; i++)
		for (size_t k = 0; k < t->classes.n; k++) {
			struct wall_pair p = {.from = &t->classes.v[i], .to = &t->classes.v[k]};

			if (is_pair(t, p.from, p.to) && flow_between(t, &p))
				*LIST_ADD(t->w->a, &t->pairs) = p;
		}
}

int walls_train(struct walls *w, const struct port_needs *needs, const str_list *groups,
		struct walls_training *ret, struct err *e)
{
	str_list signatures = {0};

	*ret = (struct walls_training){.w = w, .needs = *needs};
	for (size_t i = 0; i < w->nodes.n; i++)
		if (is_meant(w, &w->nodes.v[i], groups))
			classify(ret, &w->nodes.v[i], &signatures);
	if (!ret->classes.n) {
		err_set(e, ERR_USAGE, "no node there has '%s'", groups->n ? groups->v[0] : "");
		return err_hint(e,
				"--group takes what nodes carry: a network tag, a service account, "
				"the name of a security group");
	}
	if (ret->classes.n > MOST_CLASSES) {
		err_set(e, ERR_SYS, "the rules treat %zu kinds of nodes differently, over %d",
			ret->classes.n, MOST_CLASSES);
		return err_hint(e, "name what the nodes carry that matter: --group TAG");
	}
	find_pairs(ret);
	for (size_t i = 0; i < ret->pairs.n && !interrupt_pending(); i++) {
		judge_side(ret, &ret->pairs.v[i], true);
		judge_side(ret, &ret->pairs.v[i], false);
	}
	return interrupt_err(e);
}

bool walls_train_stops(const struct walls_training *t)
{
	for (size_t i = 0; i < t->cases.n; i++)
		if (t->cases.v[i].closed.n)
			return true;
	return false;
}

bool wall_case_is_open_question(const struct walls_training *t, const struct wall_case *c)
{
	return !c->rule && t->w->unread_allow;
}
