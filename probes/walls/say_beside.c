/* What is not known, and what stands beside the rules. */
#include "lib/core/quote.h"
#include "probes/walls/say.h"

/* --- what is not known ------------------------------------------------------------------------ */

static void say_undescribed(const struct walls_training *t, const struct wall_class *c,
			    struct report *r)
{
	struct finding *f = report_find(r, "cloud.ingress", c->node->name);
	const struct wall *wall = wall_find(t->w, c->doubt_id);
	const char *id = c->doubt_id, *name = wall_tail(id);

	if (t->w->cloud == WALLS_GCP) {
		finding_set(f, ST_SKIP,
			    "cannot be judged: the rules of its network %s are in no document",
			    name);
		finding_fix(f,
			    "gcloud compute firewall-rules list%s%s --format=json   # and its "
			    "document, too",
			    wall && wall->place ? " --project=" : "",
			    wall && wall->place ? shell_quote(f->a, wall->place) : "");
	} else {
		finding_set(f, ST_SKIP, "cannot be judged: its security group %s is in no document",
			    name);
		finding_fix(f, "az network nsg show --ids %s   # and its document, too",
			    shell_quote(f->a, id));
	}
	report_add(r, f);
}

static void say_subnet(const struct wall_class *c, struct report *r)
{
	struct finding *f = report_find(r, "cloud.ingress", c->node->name);

	finding_set(f, ST_SKIP,
		    "cannot be judged: whether its subnet %s has a security group is in no "
		    "document: without one, and "
		    "without its own, everything passes",
		    wall_tail(c->doubt_id));
	finding_fix(f, "az network vnet list --output json   # and its document, too");
	report_add(r, f);
}

/* Once for each wall or subnet. */
static bool is_first(const struct walls_training *t, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (t->classes.v[i].doubt == t->classes.v[at].doubt &&
		    walls_same(t->classes.v[i].doubt_id, t->classes.v[at].doubt_id))
			return false;
	return true;
}

static void say_open(const struct walls_training *t, struct report *r)
{
	for (size_t i = 0; i < t->classes.n; i++) {
		const struct wall_class *c = &t->classes.v[i];
		struct finding *f;

		if (c->doubt != WALL_KNOWN || c->node->walls.n)
			continue;
		f = report_find(r, "cloud.ingress", c->node->name);
		finding_set(f, ST_PASS, "no security group stands before it: everything passes");
		report_add(r, f);
		return;
	}
}

static void say_left_out(const struct walls_training *t, struct report *r)
{
	for (size_t i = 0; i < t->w->all.n; i++) {
		struct finding *f;

		if (!t->w->all.v[i].left_out)
			continue;
		f = report_find(r, "cloud.rules", t->w->all.v[i].name);
		finding_set(
			f, ST_WARN,
			"%zu of its rules could not be read whole: what they say is missing here",
			t->w->all.v[i].left_out);
		report_add(r, f);
	}
}

/* A denial for a part of the private addresses, where the nodes' are not known. */
static const struct wall_rule *doubtful(const struct walls_training *t, const struct wall *wall)
{
	struct port_span spans[2];
	port_spans needs = {.v = spans, .n = port_needs_spans(&t->needs, spans)};

	for (size_t k = 0; k < wall->rules.n; k++) {
		const struct wall_rule *x = &wall->rules.v[k];
		const struct wall_whom *who = x->peer.ranges.n ? &x->peer : &x->owner;

		if (!x->is_allow && who->ranges.n && who->ranges.v[0].bits && !who->is_all &&
		    addr_class(&who->ranges.v[0].net) == ADDR_PRIVATE &&
		    wall_rule_reaches(x, &needs))
			return x;
	}
	return NULL;
}

static void say_doubts(const struct walls_training *t, struct report *r)
{
	for (size_t i = 0; i < t->w->all.n; i++) {
		const struct wall_rule *x = doubtful(t, &t->w->all.v[i]);
		struct finding *f;

		if (!x || !t->classes.n || t->classes.v[0].node->addrs.n)
			continue;
		f = report_find(r, "cloud.rules", t->w->all.v[i].name);
		finding_set(
			f, ST_WARN,
			"the rule %s (priority %u) denies a part of the private addresses, and no "
			"node's is known here",
			x->name, x->priority);
		finding_fix(
			f, t->w->cloud == WALLS_GCP
				   ? "gcloud compute instances list --format=json   # and its "
				     "document, too"
				   : "az network nic list --output json   # and its document, too");
		report_add(r, f);
	}
}

static void say_policies(const struct walls_training *t, struct report *r)
{
	for (size_t i = 0; i < t->w->unread.n; i++) {
		struct finding *f = report_find(r, "cloud.policy", t->w->unread.v[i]);

		finding_set(f, ST_WARN,
			    "a firewall policy allows or denies, too, and was not looked at: one "
			    "of the "
			    "organisation is asked before the network's rules, one of the network "
			    "after "
			    "them, where nothing else is set");
		finding_fix(f, "- ask the ports themselves: portcheck --hosts a,b");
		report_add(r, f);
	}
}

void walls_say_unknown(const struct walls_training *t, struct report *r)
{
	say_open(t, r);
	for (size_t i = 0; i < t->classes.n; i++) {
		const struct wall_class *c = &t->classes.v[i];

		if (c->doubt == WALL_UNDESCRIBED && is_first(t, i))
			say_undescribed(t, c, r);
		else if (c->doubt == WALL_SUBNET && is_first(t, i))
			say_subnet(c, r);
	}
	say_left_out(t, r);
	say_doubts(t, r);
	say_policies(t, r);
}

/* --- beside the rules ---------------------------------------------------------------------------
 */

static void say_loose(const struct walls_training *t, struct report *r)
{
	struct finding *f;

	if (!t->w->loose)
		return;
	f = report_find(r, "cloud.network", NULL);
	finding_set(f, ST_INFO, "%zu interface%s of no machine %s left out", t->w->loose,
		    t->w->loose == 1 ? "" : "s", t->w->loose == 1 ? "was" : "were");
	report_add(r, f);
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

void walls_say_beside(const struct walls_training *t, struct report *r)
{
	say_loose(t, r);
	say_rdma(t, r);
	say_idle(t, r);
}
