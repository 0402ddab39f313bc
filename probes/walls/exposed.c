/* Training ports that the whole internet may reach. */
#include "probes/walls/say.h"

/* Who lets TCP of training in from some machine outside? NULL: nobody, or what is built in. */
static const struct wall_rule *opener(const struct walls_training *t, const struct wall *wall,
				      const struct wall_node *n)
{
	AUTO(arena_done) struct arena a = {0};
	struct wall_node outside = {.name = "the internet", .is_outside = true};
	struct wall_flow f = {.from = &outside, .to = n, .source = t->needs.ephemeral};
	struct port_span needs[2];
	size_t spans = port_needs_spans(&t->needs, needs);
	union addr somebody;
	struct wall_view v;

	if (addr_parse("198.51.100.1", &somebody)) /* of those that documents use */
		return NULL;
	f.src = &somebody;
	f.dst = n->addrs.n ? &n->addrs.v[0] : NULL;
	v = wall_look(wall, &f, false, &a);
	for (size_t i = 0; i < spans; i++) {
		struct wall_verdict x = wall_ask(&v, WALLS_TCP, needs[i].first);

		if (x.passes)
			return x.rule;
	}
	return NULL;
}

static void say(const struct wall *wall, const struct wall_rule *rule, struct report *r)
{
	struct finding *f = report_find(r, "cloud.exposed", wall->name);

	finding_set(f, ST_WARN,
		    "the rule %s lets the whole internet reach training ports: those protocols "
		    "have no passwords, and nodes of one cluster need only each other",
		    rule->name);
	report_add(r, f);
}

/* Behind two walls both must let it in. */
static const struct wall_rule *exposes(const struct walls_training *t, const struct wall_node *n,
				       const struct wall **ret_wall)
{
	const struct wall_rule *rule = NULL;

	for (size_t i = 0; i < n->walls.n; i++) {
		*ret_wall = wall_find(t->w, n->walls.v[i]);
		rule = *ret_wall ? opener(t, *ret_wall, n) : NULL;
		if (!rule)
			return NULL;
	}
	return rule;
}

void walls_say_exposed(const struct walls_training *t, struct report *r)
{
	LIST(const struct wall_rule *) said = {0};

	for (size_t i = 0; i < t->classes.n; i++) {
		const struct wall *wall = NULL;
		const struct wall_rule *rule = exposes(t, t->classes.v[i].node, &wall);
		bool is_said = !rule;

		for (size_t k = 0; k < said.n; k++)
			is_said |= said.v[k] == rule;
		if (is_said)
			continue;
		*LIST_ADD(report_arena(r), &said) = rule;
		say(wall, rule, r);
	}
}
