/* What the judgement says to a person, and the lines that mend it. */
#include "probes/walls/say.h"

/* Are there others in its network that the rules treat differently? */
static bool is_one_of_several(const struct walls_training *t, const struct wall_class *c)
{
	size_t n = 0;

	for (size_t i = 0; i < t->classes.n; i++)
		n += walls_same(t->classes.v[i].node->network, c->node->network);
	return n > 1;
}

static const char *between(const struct walls_training *t, const struct wall_case *c,
			   struct arena *a)
{
	const struct wall_class *from = c->pairs.v[0]->from, *to = c->pairs.v[0]->to;
	const char *other = to->nodes.v[from == to && to->nodes.n > 1]->name;

	if (!is_one_of_several(t, from))
		return "";
	if (from == to && to->nodes.n == 1)
		return arena_printf(a, ", of %s and another like it", other);
	return arena_printf(
		a, ", from %s to %s%s", from->node->name, other,
		c->pairs.n > 1 || from->nodes.n > 1 || to->nodes.n > 1 ? " and their like" : "");
}

/* One that would let it pass were it on. */
static const struct wall_rule *switched_off(const struct wall_case *c)
{
	const struct wall *w = c->view.wall;

	for (size_t i = 0; i < w->disabled.n; i++)
		if (w->disabled.v[i].is_allow && wall_rule_reaches(&w->disabled.v[i], &c->closed) &&
		    wall_rule_is_about(&w->disabled.v[i], &c->pairs.v[0]->flow, c->view.is_egress))
			return &w->disabled.v[i];
	return NULL;
}

static const char *why(const struct walls_training *t, const struct wall_case *c, struct arena *a)
{
	const struct wall_rule *off = switched_off(c);

	if (c->rule)
		return arena_printf(a, "the rule %s (priority %u) denies it", c->rule->name,
				    c->rule->priority);
	if (off)
		return arena_printf(a, "no rule lets it pass; %s would, and is disabled",
				    off->name);
	return t->w->cloud == WALLS_GCP ? "no rule lets it pass, and what none does is denied"
					: "no rule lets it pass";
}

/* One rule mends all cases of a wall and a direction: it stands under the first. */
static bool is_first(const struct walls_training *t, const struct wall_case *c)
{
	for (const struct wall_case *x = t->cases.v; x < c; x++)
		if (x->view.wall == c->view.wall && x->view.is_egress == c->view.is_egress &&
		    x->closed.n && !wall_case_is_open_question(t, x))
			return false;
	return true;
}

static void say_fixes(const struct walls_training *t, const struct wall_case *c, struct finding *f)
{
	str_list lines;

	if (!is_first(t, c)) {
		finding_fix(f, "- the rule above lets this pass, too");
		return;
	}
	lines = walls_mend(t, c->view.wall, c->view.is_egress, f->a);
	for (size_t i = 0; i < lines.n; i++)
		finding_fix(f, "%s", lines.v[i]);
}

static void say_closed(const struct walls_training *t, const struct wall_case *c, struct finding *f)
{
	const struct port_span all = {1, 65535};
	const char *verb = c->view.is_egress ? "leave to" : "enter from";
	port_spans closed = {0}, open = {0};

	wall_closed(&c->view, all, f->a, &closed);
	port_spans_invert(f->a, &closed, all, &open);
	if (wall_case_is_open_question(t, c)) {
		finding_set(f, ST_WARN,
			    "no rule of the network lets TCP %s %s the other nodes%s; a firewall "
			    "policy, which was not looked at, may",
			    port_spans_text(f->a, &c->closed), verb, between(t, c, f->a));
		return;
	}
	finding_set(f, ST_FAIL, "%s%s: %s%s%s",
		    port_needs_closed(f->a, &t->needs, &c->closed, &open, verb),
		    between(t, c, f->a), why(t, c, f->a), open.n ? "; open: " : "",
		    port_spans_text(f->a, &open));
	say_fixes(t, c, f);
}

static void say_case(const struct walls_training *t, const struct wall_case *c, struct report *r)
{
	struct finding *f = report_find(r, c->view.is_egress ? "cloud.egress" : "cloud.ingress",
					c->view.wall->name);

	if (c->closed.n)
		say_closed(t, c, f);
	else if (c->udp && c->icmp)
		finding_set(f, ST_PASS, "TCP, UDP and ICMP %s the other nodes%s",
			    c->view.is_egress ? "may leave to" : "may enter from",
			    between(t, c, f->a));
	else
		finding_set(f, ST_INFO,
			    "the TCP ports of training are open%s; %s not: NCCL over sockets and "
			    "Gloo need no more; RoCE needs UDP 4791",
			    between(t, c, f->a),
			    c->udp    ? "ICMP is"
			    : c->icmp ? "UDP is"
				      : "UDP and ICMP are");
	finding_expect(f, "TCP %u and %u-%u between the nodes", t->needs.master,
		       t->needs.ephemeral.first, t->needs.ephemeral.last);
	report_add(r, f);
}

void walls_train_report(const struct walls_training *t, struct report *r)
{
	for (size_t i = 0; i < t->cases.n; i++)
		say_case(t, &t->cases.v[i], r);
	walls_say_unknown(t, r);
	walls_say_exposed(t, r);
	walls_say_apart(t, r);
	walls_say_beside(t, r);
}
