/*
 * The rule that is missing, as a command to paste. It has to be asked before
 * whatever denies: a smaller number, and where none is left, that rule moves.
 */
#include "lib/core/quote.h"
#include "lib/core/text.h"
#include "probes/walls/train.h"

enum { GCP_FIRST = 0, GCP_USUAL = 1000, AZURE_FIRST = 100, AZURE_USUAL = 1000, AZURE_LAST = 4096 };
#define PRIVATE_RANGES "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16"

/* The first of those that deny what @c is about; NULL: none does, but for what is built in. */
static const struct wall_rule *in_the_way(const struct wall_case *c)
{
	for (size_t i = 0; i < c->wall->rules.n; i++) {
		const struct wall_rule *r = &c->wall->rules.v[i];

		if (r->is_egress == c->is_egress && !r->is_builtin &&
		    wall_rule_stops(r, &c->pair->flow, &c->closed))
			return r;
	}
	return NULL;
}

static bool is_taken(const struct wall_case *c, unsigned priority)
{
	for (size_t i = 0; i < c->wall->rules.n; i++)
		if (c->wall->rules.v[i].is_egress == c->is_egress &&
		    c->wall->rules.v[i].priority == priority)
			return true;
	return false;
}

/* --- Google Cloud ----------------------------------------------------------------------------- */

/* A tag or account of both ends; best one that a rule knows as a cluster's. */
static const char *common_label(const struct wall_case *c)
{
	const struct wall_node *x = c->pair->from->node, *y = c->pair->to->node;
	const char *best = NULL;

	for (size_t i = 0; i < x->labels.n; i++) {
		const char *label = x->labels.v[i];

		if (!wall_node_has(y, label))
			continue;
		for (size_t k = 0; k < c->wall->rules.n; k++)
			if (is_among(label, c->wall->rules.v[k].peer.labels.v,
				     c->wall->rules.v[k].peer.labels.n))
				return label;
		best = best ? best : label;
	}
	return best;
}

/* The smallest range that holds the addresses of all nodes of that network. */
static void widen(const union addr *at, struct wall_range *r)
{
	if (at->sa.sa_family != AF_INET)
		return;
	if (!r->net.sa.sa_family)
		*r = (struct wall_range){*at, 32};
	while (r->bits && !addr_in_subnet(at, &r->net, r->bits))
		r->bits--;
}

static const char *ranges_of(const struct walls_training *t, const struct wall_case *c,
			     struct arena *a)
{
	struct wall_range r = {0};
	struct addr_text text;
	union addr net;

	for (size_t i = 0; i < t->w->nodes.n; i++) {
		const struct wall_node *n = &t->w->nodes.v[i];

		for (size_t k = 0; k < n->addrs.n && streq(n->network, c->wall->id); k++)
			widen(&n->addrs.v[k], &r);
	}
	if (!r.net.sa.sa_family)
		return PRIVATE_RANGES;
	r.bits = r.bits > 28 ? 28 : r.bits; /* and the next node beside them */
	net = addr_network(&r.net, r.bits);
	return arena_printf(a, "%s/%u", addr_print(&net, &text), r.bits);
}

static bool is_account(const char *label) { return label && !strncmp(label, "account:", 8); }

static const char *gcp_create(const struct walls_training *t, const struct wall_case *c,
			      unsigned priority, struct arena *a)
{
	const char *label = common_label(c), *network = shell_quote(a, c->wall->name);
	const char *kind = is_account(label) ? "service-accounts" : "tags";
	const char *word = label ? shell_quote(a, wall_label_word(label)) : NULL;
	struct text s;

	text_init(&s, a);
	text_addf(&s, "gcloud compute firewall-rules create %s", /* of 63 bytes at most */
		  shell_quote(a, arena_printf(a, "windsock-%.40s-%s", c->wall->name,
					      c->is_egress ? "out" : "in")));
	if (c->wall->place)
		text_addf(&s, " --project=%s", shell_quote(a, c->wall->place));
	text_addf(&s, " --network=%s --direction=%s --priority=%u --action=ALLOW --rules=all",
		  network, c->is_egress ? "EGRESS" : "INGRESS", priority);
	if (c->is_egress)
		text_addf(&s, " --destination-ranges=%s", ranges_of(t, c, a));
	else if (label)
		text_addf(&s, " --source-%s=%s", kind, word);
	else
		text_addf(&s, " --source-ranges=%s", ranges_of(t, c, a));
	if (label)
		text_addf(&s, " --target-%s=%s", kind, word);
	return s.s;
}

static struct wall_mend mend_gcp(const struct walls_training *t, const struct wall_case *c,
				 struct arena *a)
{
	const struct wall_rule *deny = in_the_way(c);
	unsigned priority = GCP_USUAL;

	if (!deny || deny->priority > GCP_USUAL)
		return (struct wall_mend){.first = gcp_create(t, c, priority, a)};
	if (deny->priority > GCP_FIRST)
		return (struct wall_mend){.first = gcp_create(t, c, deny->priority - 1, a)};
	return (struct wall_mend){
		.first =
			arena_printf(a, "gcloud compute firewall-rules update %s%s%s --priority=%d",
				     deny->name, c->wall->place ? " --project=" : "",
				     c->wall->place ? c->wall->place : "", GCP_FIRST + 1),
		.then = gcp_create(t, c, GCP_FIRST, a)};
}

/* --- Azure --------------------------------------------------------------------------------------
 */

static const char *azure_rule(const struct wall_case *c, const char *verb, const char *name,
			      unsigned priority, struct arena *a)
{
	return arena_printf(a,
			    "az network nsg rule %s --resource-group %s --nsg-name %s --name %s "
			    "--priority %u",
			    verb,
			    shell_quote(a, c->wall->place ? c->wall->place : "RESOURCE-GROUP"),
			    shell_quote(a, c->wall->name), shell_quote(a, name), priority);
}

static const char *azure_create(const struct wall_case *c, unsigned priority, struct arena *a)
{
	return arena_printf(
		a,
		"%s --direction %s --access Allow --protocol '*' "
		"--source-address-prefixes VirtualNetwork --source-port-ranges '*' "
		"--destination-address-prefixes VirtualNetwork "
		"--destination-port-ranges '*'",
		azure_rule(c, "create", c->is_egress ? "windsock-out" : "windsock-in", priority, a),
		c->is_egress ? "Outbound" : "Inbound");
}

/* Each number is taken once: the free one that is nearest before @limit. 0: none. */
static unsigned free_before(const struct wall_case *c, unsigned limit)
{
	for (unsigned p = limit - 1; p >= AZURE_FIRST; p--)
		if (!is_taken(c, p))
			return p;
	return 0;
}

static unsigned free_after(const struct wall_case *c, unsigned from)
{
	while (from < AZURE_LAST && is_taken(c, from))
		from++;
	return from;
}

/* The rules at the very front leave no number: the one that denies goes behind them. */
static struct wall_mend mend_azure(const struct wall_case *c, struct arena *a)
{
	const struct wall_rule *deny = in_the_way(c);
	unsigned priority = deny ? free_before(c, deny->priority) : free_after(c, AZURE_USUAL);

	if (priority)
		return (struct wall_mend){.first = azure_create(c, priority, a)};
	return (struct wall_mend){
		.first = azure_rule(c, "update", deny->name, free_after(c, AZURE_USUAL), a),
		.then = azure_create(c, deny->priority, a)};
}

struct wall_mend walls_mend(const struct walls_training *t, const struct wall_case *c,
			    struct arena *a)
{
	return t->w->cloud == WALLS_GCP ? mend_gcp(t, c, a) : mend_azure(c, a);
}
