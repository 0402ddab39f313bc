/* Silence that ends when it is asked without an option of TCP: no security group does that. */
#include "probes/port/own.h"

#include "lib/net/syn.h"

enum { FEW = 16, EACH = 4 }; /* in all, and of one host */

struct asked {
	struct syn_probe v[FEW];
	size_t at[FEW], n; /* of which result */
};

/* Where the source port decides, each way of asking has an answer of its own by chance. */
static bool is_silent(const struct reach *r, const target_list *targets, size_t i)
{
	const struct reach_result *x = &r->v[i];

	return x->cause == CAUSE_DROPPED && !r->udp && x->addr == x->target->addrs.v &&
	       !r->ways[x->target - targets->v].by_port;
}

/* One port of each host first: another rule may be for each of its ports, and drop all of it. */
static void choose(const struct reach *r, const target_list *targets, struct asked *q)
{
	for (size_t round = 0; round < EACH; round++) {
		const struct port_target *last = NULL;
		size_t seen = 0;

		for (size_t i = 0; i < r->n && q->n < FEW; i++) {
			if (!is_silent(r, targets, i))
				continue;
			seen = r->v[i].target == last ? seen + 1 : 0;
			last = r->v[i].target;
			if (seen != round)
				continue;
			q->v[q->n].to = *r->v[i].addr;
			addr_set_port(&q->v[q->n].to, r->v[i].port);
			q->at[q->n++] = i;
		}
	}
}

static enum port_cause cause_of(unsigned dropped)
{
	return dropped & SYN_TIMESTAMPS ? CAUSE_TIMESTAMPS
	       : dropped & SYN_SCALING	? CAUSE_SCALING
	       : dropped & SYN_SACK	? CAUSE_SACK
					: CAUSE_DROPPED;
}

/* A port that was not asked is as all are that were, of its host: else it is not known. */
static unsigned dropped_of(const struct reach *r, const struct asked *q, size_t result)
{
	unsigned ret = 0;
	bool any = false, alike = true;

	for (size_t i = 0; i < q->n; i++) {
		if (q->at[i] == result)
			return q->v[i].dropped;
		if (r->v[q->at[i]].target != r->v[result].target)
			continue;
		alike = alike && (!any || q->v[i].dropped == ret);
		ret = q->v[i].dropped;
		any = true;
	}
	return alike ? ret : 0;
}

void own_options(struct reach *r, const target_list *targets)
{
	struct asked q = {0};

	choose(r, targets, &q);
	syn_ask(q.v, q.n);
	for (size_t i = 0; q.n && i < r->n; i++) {
		unsigned dropped = is_silent(r, targets, i) ? dropped_of(r, &q, i) : 0;

		if (dropped)
			r->v[i].cause = (uint8_t)cause_of(dropped);
	}
}
