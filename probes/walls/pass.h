#ifndef PROBES_WALLS_PASS_H
#define PROBES_WALLS_PASS_H
/* What the walls do with a packet, as pure functions of the rules. */
#include "probes/walls/walls.h"

enum { WALLS_TCP = 6, WALLS_UDP = 17 };

struct wall_flow {
	const struct wall_node *from, *to;
	const union addr *src, *dst; /* NULL: not known, some private address of a cluster */
	struct port_span source;     /* where it may come from: all of these must pass */
};

/* A wall on one flow's way out of its sender, or into its receiver: the rules that are about
 * these two, whatever the port, in the order in which they are asked. */
struct wall_view {
	const struct wall *wall;
	bool is_egress;
	LIST(const struct wall_rule *) rules;
};
struct wall_view wall_look(const struct wall *wall, const struct wall_flow *f, bool is_egress,
			   struct arena *a);

struct wall_verdict {
	bool passes;
	const struct wall_rule *rule; /* that decided; NULL: none matched */
};
struct wall_verdict wall_ask(const struct wall_view *v, int proto, uint16_t port);
/* The TCP ports of @within that this wall closes. */
void wall_closed(const struct wall_view *v, struct port_span within, struct arena *a,
		 port_spans *ret);
/* Those that are open through all walls of both ends. */
void walls_open(const struct walls *w, const struct wall_flow *f, int proto,
		struct port_span within, port_spans *ret);

/* Is a rule, whatever it does with it, about these two, and about TCP to some of these ports? */
bool wall_rule_is_about(const struct wall_rule *r, const struct wall_flow *f, bool is_egress);
bool wall_rule_reaches(const struct wall_rule *r, const port_spans *ports);
/* Is the node, at this address, on that side of a rule? The address may be NULL. */
bool wall_whom_is(const struct wall_whom *who, const struct wall_node *n, const union addr *at);

#endif
