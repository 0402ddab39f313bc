#ifndef PROBES_WALLS_PASS_H
#define PROBES_WALLS_PASS_H
/* What the walls do with a packet, as pure functions of the rules. */
#include "probes/walls/walls.h"

enum { WALLS_TCP = 6, WALLS_UDP = 17, WALLS_ANY = 253 /* nobody names it: only "all" matches */ };

struct wall_flow {
	const struct wall_node *from, *to;
	const union addr *src, *dst; /* NULL: not known, some private address of a cluster */
	int proto;
	uint16_t port;		 /* to it */
	struct port_span source; /* where it may come from: all of these must pass */
};

/* What one wall does with it on its way out of its sender, or into its receiver. */
struct wall_verdict {
	bool passes;
	const struct wall_rule *rule; /* that decided; NULL: none matched */
};
struct wall_verdict wall_ask(const struct wall *wall, const struct wall_flow *f, bool is_egress);
bool walls_pass(const struct walls *w, const struct wall_flow *f); /* all of both ends */
/* The ports of @within that this wall closes; f->port is ignored. */
void wall_closed(const struct wall *wall, const struct wall_flow *f, bool is_egress,
		 struct port_span within, struct arena *a, port_spans *ret);
/* Those that are open through all. */
void walls_open(const struct walls *w, const struct wall_flow *f, struct port_span within,
		port_spans *ret);
/* Does this rule deny some of these ports? */
bool wall_rule_stops(const struct wall_rule *r, const struct wall_flow *f, const port_spans *ports);

/* Is the node, at this address, on that side of a rule? The address may be NULL. */
bool wall_whom_is(const struct wall_whom *who, const struct wall_node *n, const union addr *at);

#endif
