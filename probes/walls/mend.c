/*
 * The rule that is missing, as a command to paste: one for all cases of a wall and a direction. It
 * has to be asked before whatever denies: a smaller number, and where none is left, that rule
 * moves.
 */
#include "lib/core/quote.h"
#include "lib/core/text.h"
#include "probes/walls/train.h"

#include <strings.h>

enum { GCP_FIRST = 0, GCP_USUAL = 1000, AZURE_FIRST = 100, AZURE_USUAL = 1000, AZURE_LAST = 4096 };

struct mending {
	const struct walls_training *t;
	const struct wall *wall;
	bool is_egress;
	struct arena *a;
	const struct wall_rule
		*deny; /* the first that is in the way; NULL: none, but what is built in */
};

static bool is_mine(const struct mending *m, const struct wall_case *c)
{
	return c->view.wall == m->wall && c->view.is_egress == m->is_egress && c->closed.n &&
	       !wall_case_is_open_question(m->t, c);
}

static const struct wall_rule *in_the_way(const struct mending *m)
{
	const struct wall_rule *first = NULL;

	for (size_t i = 0; i < m->t->cases.n; i++) {
		const struct wall_case *c = &m->t->cases.v[i];

		for (size_t k = 0; is_mine(m, c) && k < c->view.rules.n; k++) {
			const struct wall_rule *r = c->view.rules.v[k];

			if (!r->is_allow && !r->is_builtin && wall_rule_reaches(r, &c->closed) &&
			    (!first || r->priority < first->priority))
				first = r;
		}
	}
	return first;
}

static bool is_taken(const struct mending *m, unsigned priority)
{
	for (size_t i = 0; i < m->wall->rules.n; i++)
		if (m->wall->rules.v[i].is_egress == m->is_egress &&
		    m->wall->rules.v[i].priority == priority)
			return true;
	return false;
}

static bool is_there(const struct mending *m, const char *name)
{
	for (size_t i = 0; i < m->wall->rules.n; i++)
		if (!strcasecmp(m->wall->rules.v[i].name, name))
			return true;
	for (size_t i = 0; i < m->wall->disabled.n; i++)
		if (!strcasecmp(m->wall->disabled.v[i].name, name))
			return true;
	return false;
}

/* "windsock-train-in", or with a number behind it where that is there; of 63 bytes at most. */
static const char *free_name(const struct mending *m, const char *of)
{
	const char *name = arena_printf(m->a, "windsock%s%.40s-%s", *of ? "-" : "", of,
					m->is_egress ? "out" : "in");
	const char *one = name;

	for (unsigned i = 2; is_there(m, one); i++)
		one = arena_printf(m->a, "%s-%u", name, i);
	return one;
}

/* --- Google Cloud ----------------------------------------------------------------------------- */

static bool class_has(const struct wall_class *c, const char *label)
{
	for (size_t i = 0; i < c->nodes.n; i++)
		if (!wall_node_has(c->nodes.v[i], label))
			return false;
	return true;
}

static bool all_have(const struct mending *m, const char *label)
{
	for (size_t i = 0; i < m->t->cases.n; i++) {
		const struct wall_case *c = &m->t->cases.v[i];

		for (size_t k = 0; is_mine(m, c) && k < c->pairs.n; k++)
			if (!class_has(c->pairs.v[k]->from, label) ||
			    !class_has(c->pairs.v[k]->to, label))
				return false;
	}
	return true;
}

static const struct wall_node *any_node(const struct mending *m)
{
	for (size_t i = 0; i < m->t->cases.n; i++)
		if (is_mine(m, &m->t->cases.v[i]))
			return m->t->cases.v[i].pairs.v[0]->from->node;
	return NULL;
}

static bool is_a_peer_of_rules(const struct mending *m, const char *label)
{
	for (size_t i = 0; i < m->wall->rules.n; i++) {
		const str_list *l = &m->wall->rules.v[i].peer.labels;

		if (is_among(label, l->v, l->n))
			return true;
	}
	return false;
}

/* A tag or account of all of them; best one that a rule knows as a cluster's. */
static const char *common_label(const struct mending *m)
{
	const struct wall_node *n = any_node(m);
	const char *best = NULL;

	for (size_t i = 0; n && i < n->labels.n; i++) {
		if (!all_have(m, n->labels.v[i]))
			continue;
		if (is_a_peer_of_rules(m, n->labels.v[i]))
			return n->labels.v[i];
		best = best ? best : n->labels.v[i];
	}
	return best;
}

/* Of each block of private addresses the smallest range that holds the nodes' of it, and the next
 * node beside them. What is not private is nobody's inside, and never opened. */
static struct wall_range range_within(const struct mending *m, const struct wall_range *block)
{
	struct wall_range r = {0};

	for (size_t i = 0; i < m->t->classes.n; i++)
		for (size_t k = 0; k < m->t->classes.v[i].nodes.n; k++) {
			const struct wall_node *n = m->t->classes.v[i].nodes.v[k];
			const union addr *at = n->addrs.n ? &n->addrs.v[0] : NULL;

			if (!at || at->sa.sa_family != AF_INET || !streq(n->network, m->wall->id) ||
			    !addr_in_subnet(at, &block->net, block->bits))
				continue;
			if (!r.bits)
				r = (struct wall_range){*at, 28};
			while (r.bits > block->bits && !addr_in_subnet(at, &r.net, r.bits))
				r.bits--;
		}
	r.net = addr_network(&r.net, r.bits);
	return r;
}

static const char *ranges_of(const struct mending *m)
{
	static const char *const blocks[] = {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",
					     "100.64.0.0/10"};
	struct addr_text text;
	struct text s, all;

	text_init(&s, m->a);
	text_init(&all, m->a);
	for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
		struct wall_range block, r;

		if (addr_parse_range(blocks[i], &block.net, &block.bits))
			continue;
		r = range_within(m, &block);
		text_addf(&all, "%s%s", i ? "," : "", blocks[i]);
		if (r.bits)
			text_addf(&s, "%s%s/%u", s.n ? "," : "", addr_print(&r.net, &text), r.bits);
	}
	return s.n ? s.s : all.s;
}

static bool is_account(const char *label) { return label && starts_with(label, "account:"); }

static const char *gcp_create(const struct mending *m, unsigned priority)
{
	const char *label = common_label(m),
		   *kind = is_account(label) ? "service-accounts" : "tags";
	const char *word = label ? shell_quote(m->a, wall_label_word(label)) : NULL;
	struct text s;

	text_init(&s, m->a);
	text_addf(&s, "gcloud compute firewall-rules create %s",
		  shell_quote(m->a, free_name(m, m->wall->name)));
	if (m->wall->place)
		text_addf(&s, " --project=%s", shell_quote(m->a, m->wall->place));
	text_addf(&s, " --network=%s --direction=%s --priority=%u --action=ALLOW --rules=all",
		  shell_quote(m->a, m->wall->name), m->is_egress ? "EGRESS" : "INGRESS", priority);
	if (m->is_egress)
		text_addf(&s, " --destination-ranges=%s", ranges_of(m));
	else if (label)
		text_addf(&s, " --source-%s=%s", kind, word);
	else
		text_addf(&s, " --source-ranges=%s", ranges_of(m));
	if (label)
		text_addf(&s, " --target-%s=%s", kind, word);
	return s.s;
}

static void mend_gcp(const struct mending *m, str_list *ret)
{
	unsigned priority = GCP_USUAL;

	if (m->deny && m->deny->priority == GCP_FIRST)
		*LIST_ADD(m->a, ret) = arena_printf(
			m->a, "gcloud compute firewall-rules update %s%s%s --priority=%d",
			shell_quote(m->a, m->deny->name), m->wall->place ? " --project=" : "",
			m->wall->place ? shell_quote(m->a, m->wall->place) : "", GCP_FIRST + 1);
	if (m->deny && m->deny->priority <= GCP_USUAL)
		priority = m->deny->priority ? m->deny->priority - 1 : GCP_FIRST;
	*LIST_ADD(m->a, ret) = gcp_create(m, priority);
}

/* --- Azure --------------------------------------------------------------------------------------
 */

static const char *azure_rule(const struct mending *m, const char *verb, const char *name,
			      unsigned priority)
{
	const char *place = m->wall->place ? m->wall->place : "RESOURCE-GROUP";

	return arena_printf(m->a,
			    "az network nsg rule %s --resource-group %s --nsg-name %s --name %s "
			    "--priority %u",
			    verb, shell_quote(m->a, place), shell_quote(m->a, m->wall->name),
			    shell_quote(m->a, name), priority);
}

static const char *azure_create(const struct mending *m, unsigned priority)
{
	return arena_printf(m->a,
			    "%s --direction %s --access Allow --protocol '*' "
			    "--source-address-prefixes VirtualNetwork --source-port-ranges '*' "
			    "--destination-address-prefixes VirtualNetwork "
			    "--destination-port-ranges '*'",
			    azure_rule(m, "create", free_name(m, ""), priority),
			    m->is_egress ? "Outbound" : "Inbound");
}

/* Each number is taken once: the free one that is nearest before @limit. 0: none. */
static unsigned free_before(const struct mending *m, unsigned limit)
{
	for (unsigned p = limit - 1; p >= AZURE_FIRST; p--)
		if (!is_taken(m, p))
			return p;
	return 0;
}

static unsigned free_after(const struct mending *m, unsigned from)
{
	while (from < AZURE_LAST && is_taken(m, from))
		from++;
	return from;
}

/* What comes to stand before the denial when that moves behind @to. */
static const struct wall_rule *overtaken_by(const struct mending *m, unsigned to)
{
	for (size_t i = 0; i < m->wall->rules.n; i++) {
		const struct wall_rule *r = &m->wall->rules.v[i];

		if (r->is_egress == m->is_egress && r->is_allow &&
		    r->priority > m->deny->priority && r->priority < to)
			return r;
	}
	return NULL;
}

/* The rules at the very front leave no number: the one that denies goes behind them. */
static void mend_azure(const struct mending *m, str_list *ret)
{
	unsigned priority =
		m->deny ? free_before(m, m->deny->priority) : free_after(m, AZURE_USUAL);
	const struct wall_rule *other;

	if (!priority) {
		unsigned to = free_after(m, m->deny->priority + 1);

		other = overtaken_by(m, to);
		if (other)
			*LIST_ADD(m->a, ret) = arena_printf(
				m->a, "- look at it first: %s (%u) would come before %s then",
				other->name, other->priority, m->deny->name);
		*LIST_ADD(m->a, ret) = azure_rule(m, "update", m->deny->name, to);
		priority = m->deny->priority;
	}
	*LIST_ADD(m->a, ret) = azure_create(m, priority);
}

str_list walls_mend(const struct walls_training *t, const struct wall *wall, bool is_egress,
		    struct arena *a)
{
	struct mending m = {.t = t, .wall = wall, .is_egress = is_egress, .a = a};
	str_list lines = {0};

	if (!any_node(&m))
		return lines;
	m.deny = in_the_way(&m);
	if (t->w->cloud == WALLS_GCP)
		mend_gcp(&m, &lines);
	else
		mend_azure(&m, &lines);
	return lines;
}
