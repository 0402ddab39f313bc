/* What the judgement says to a person, and the lines that mend it. */
#include "probes/walls/say.h"
#include "lib/core/quote.h"

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
	const struct wall_class *from = c->pair->from, *to = c->pair->to;
	const char *other = to->nodes.v[from == to && to->nodes.n > 1]->name;

	if (!is_one_of_several(t, from))
		return "";
	if (from == to && to->nodes.n == 1)
		return arena_printf(a, ", of %s and another like it", other);
	return arena_printf(a, ", from %s to %s%s", from->node->name, other,
			    c->pairs > 1 || from->nodes.n > 1 || to->nodes.n > 1 ? " and their like"
										 : "");
}

static const char *why(const struct walls_training *t, const struct wall_case *c, struct arena *a)
{
	if (c->rule)
		return arena_printf(a, "the rule %s (priority %u) denies it", c->rule->name,
				    c->rule->priority);
	for (size_t i = 0; i < c->wall->disabled.n; i++)
		if (!i)
			return arena_printf(a, "no rule lets it pass; %s is disabled%s",
					    c->wall->disabled.v[0],
					    c->wall->disabled.n > 1 ? ", and so are others" : "");
	return t->w->cloud == WALLS_GCP ? "no rule lets it pass, and what none does is denied"
					: "no rule lets it pass";
}

static void say_closed(const struct walls_training *t, const struct wall_case *c, struct finding *f)
{
	const struct port_span all = {1, 65535};
	port_spans closed = {0}, open = {0};
	const char *verb = c->is_egress ? "leave to" : "enter from";
	struct wall_mend m = walls_mend(t, c, f->a);

	wall_closed(c->wall, &c->pair->flow, c->is_egress, all, f->a, &closed);
	port_spans_invert(f->a, &closed, all, &open);
	finding_set(f, ST_FAIL, "%s%s: %s%s%s",
		    port_needs_closed(f->a, &t->needs, &c->closed, &open, verb),
		    between(t, c, f->a), why(t, c, f->a), open.n ? "; open: " : "",
		    port_spans_text(f->a, &open));
	finding_fix(f, "%s", m.first);
	if (m.then)
		finding_fix(f, "%s", m.then);
}

static void say_case(const struct walls_training *t, const struct wall_case *c, struct report *r)
{
	struct finding *f =
		report_find(r, c->is_egress ? "cloud.egress" : "cloud.ingress", c->wall->name);

	if (c->closed.n)
		say_closed(t, c, f);
	else if (c->udp && c->icmp)
		finding_set(f, ST_PASS, "TCP, UDP and ICMP %s the other nodes%s",
			    c->is_egress ? "may leave to" : "may enter from", between(t, c, f->a));
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

/* --- what is not known, and what stands beside ----------------------------------------------- */

static void say_unread(const struct walls_training *t, struct report *r)
{
	for (size_t i = 0; i < t->w->unread.n; i++) {
		struct finding *f = report_find(r, "cloud.policy", t->w->unread.v[i]);

		finding_set(f, ST_WARN,
			    "a firewall policy allows or denies, too, and was not looked at: its "
			    "rules may decide before those of the network");
		finding_fix(f, "- ask the ports themselves: portcheck --hosts a,b");
		report_add(r, f);
	}
}

static void say_unknown(const struct walls_training *t, struct report *r)
{
	for (size_t i = 0; i < t->classes.n; i++) {
		const struct wall_class *c = &t->classes.v[i];
		struct finding *f;

		if (!c->unknown)
			continue;
		f = report_find(r, "cloud.ingress", c->node->name);
		finding_set(f, ST_WARN, "its security group is not described there: %s",
			    strrchr(c->unknown, '/') ? strrchr(c->unknown, '/') + 1 : c->unknown);
		finding_fix(f, "az network nsg show --ids %s   # and its document, too",
			    c->unknown);
		report_add(r, f);
	}
}

static void say_bare(const struct walls_training *t, struct report *r)
{
	struct finding *f;

	if (!t->bare || t->w->cloud != WALLS_AZURE)
		return;
	f = report_find(r, "cloud.ingress", NULL);
	finding_set(f, ST_PASS,
		    "no security group stands before some of the nodes: there everything "
		    "passes");
	report_add(r, f);
}

static bool opens_training(const struct walls_training *t, const struct wall_rule *r)
{
	const struct port_span *e = &t->needs.ephemeral;

	for (size_t i = 0; i < r->reaches.n; i++) {
		const struct wall_reach *x = &r->reaches.v[i];

		if (x->proto != -1 && x->proto != WALLS_TCP)
			continue;
		if (!x->ports.n || port_spans_hold(&x->ports, t->needs.master))
			return true;
		for (size_t k = 0; k < x->ports.n; k++)
			if (x->ports.v[k].first <= e->last && x->ports.v[k].last >= e->first)
				return true;
	}
	return false;
}

static bool is_everybody(const struct wall_whom *who)
{
	for (size_t i = 0; i < who->ranges.n; i++)
		if (!who->ranges.v[i].bits)
			return true;
	return who->is_all;
}

static void say_exposed(const struct walls_training *t, const struct wall *wall, struct report *r)
{
	for (size_t k = 0; k < wall->rules.n; k++) {
		const struct wall_rule *x = &wall->rules.v[k];
		struct finding *f;

		if (x->is_egress || !x->is_allow || !is_everybody(&x->peer) ||
		    !opens_training(t, x))
			continue;
		f = report_find(r, "cloud.exposed", wall->name);
		finding_set(
			f, ST_WARN,
			"the rule %s lets the whole internet reach training ports: those protocols "
			"have no passwords, and nodes of one cluster need only each other",
			x->name);
		report_add(r, f);
	}
}

static void say_rdma(const struct walls_training *t, struct report *r)
{
	const str_list *names = &t->w->rdma;
	struct finding *f;

	if (!names->n)
		return;
	f = report_find(r, "cloud.rdma", names->v[0]);
	finding_set(
		f, ST_INFO,
		"%zu network%s for RDMA: no firewall rule of this kind is for %s, and all passes "
		"there, but what a regional policy of its own denies",
		names->n, names->n == 1 ? " is" : "s are", names->n == 1 ? "it" : "them");
	report_add(r, f);
}

/* Google's documentation: VPC firewalls track a connection for ten minutes after its last packet,
 * which nobody can set. */
static void say_idle(const struct walls_training *t, struct report *r)
{
	struct finding *f;

	if (t->w->cloud != WALLS_GCP)
		return;
	f = report_find(r, "cloud.idle", NULL);
	finding_set(
		f, ST_INFO,
		"Google Cloud's firewall forgets a TCP connection that is silent for 10 minutes, "
		"and nobody can set that: NCCL's have no keepalive, so a job that says nothing "
		"for longer, at a checkpoint, may find them dead");
	finding_fix(f, "portcheck --hosts a,b --idle 11m   # on two of the nodes: is it so here?");
	report_add(r, f);
}

void walls_train_report(const struct walls_training *t, struct report *r)
{
	for (size_t i = 0; i < t->cases.n; i++)
		say_case(t, &t->cases.v[i], r);
	say_bare(t, r);
	say_unknown(t, r);
	say_unread(t, r);
	for (size_t i = 0; i < t->w->all.n; i++)
		say_exposed(t, &t->w->all.v[i], r);
	walls_say_apart(t, r);
	say_rdma(t, r);
	say_idle(t, r);
}
