/* Silence that ends when it is asked without an option of TCP: no security group does that. */
#include "probes/port/own.h"

#include "lib/net/syn.h"

/* One port of each host is enough. */
static size_t choose(const struct reach *r, struct syn_probe *v, size_t *at, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n && n < max; i++) {
		const struct reach_result *x = &r->v[i];

		if (x->cause != CAUSE_DROPPED || r->udp || x->addr != x->target->addrs.v ||
		    (n && r->v[at[n - 1]].target == x->target))
			continue;
		v[n].to = *x->addr;
		addr_set_port(&v[n].to, x->port);
		at[n++] = i;
	}
	return n;
}

static enum port_cause cause_of(unsigned dropped)
{
	return dropped & SYN_TIMESTAMPS ? CAUSE_TIMESTAMPS
	       : dropped & SYN_SCALING	? CAUSE_SCALING
	       : dropped & SYN_SACK	? CAUSE_SACK
					: CAUSE_DROPPED;
}

void own_options(struct reach *r)
{
	enum { FEW = 16 };
	struct syn_probe v[FEW] = {0};
	size_t at[FEW], n = choose(r, v, at, FEW);

	syn_ask(v, n);
	for (size_t i = 0; i < n; i++)
		for (size_t k = at[i]; k < r->n && v[i].dropped && r->v[k].addr == r->v[at[i]].addr;
		     k++)
			if (r->v[k].cause == CAUSE_DROPPED)
				r->v[k].cause = (uint8_t)cause_of(v[i].dropped);
}
