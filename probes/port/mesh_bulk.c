/* Real data from this rank to the others: bulk to all, then rates pair by pair. */
#include "probes/port/mesh_self.h"

#include "lib/cluster/pairs.h"
#include "lib/core/units.h"

#include <math.h>

enum { STREAMS = 4, HEADERS = 40, HEADERS6 = 60 };
static const uint64_t STALL_NS = 3 * NS_PER_S;
/* Paths that swallow large packets let one of these through: jumbo, Ethernet, and what tunnels
 * and clouds leave of it, down to what IPv6 demands, and far below that for a sick path. */
static const unsigned mtus[] = {8900, 1500, 1460, 1450, 1420, 1400, 1280, 1100, 1000, 800, 576};
enum { LEAST_MTU6 = 1280 };

/* Where that port did not answer, nothing more is to be had than the same silence. */
static bool is_talked_to(const struct mesh_self *s, size_t to)
{
	bool asked = false;

	if (to == s->me || !s->addrs[to].sa.sa_family || !s->cards[to].talk_port)
		return false;
	for (size_t i = 0; i < s->reach.n; i++) {
		const struct reach_result *x = &s->reach.v[i];

		if (s->target_rank[x->target - s->targets.v] != to)
			continue;
		if (x->port == s->cards[to].talk_port)
			return x->state == PORT_OPEN;
		asked = true;
	}
	return asked && !mesh_lost(s, s->me, to);
}

static void aim(const struct mesh_self *s, size_t to, struct talk *t)
{
	*t = (struct talk){.to = s->addrs[to], .bytes = MESH_BULK_BYTES};
	addr_set_port(&t->to, s->cards[to].talk_port);
	memcpy(t->secret, s->cards[to].secret, sizeof(t->secret));
}

/* @v: what to say; the answers go to s->talks of @who. */
static int run(struct mesh_self *s, struct talk *v, size_t n, size_t parallel, struct err *e)
{
	return talk_run(v, n, parallel, STALL_NS, rdzv_failure_fd(s->rdzv), e);
}

/* Large packets are; where some have passed, their size is not what stops them. */
static bool is_swallowed(const struct talk *t) { return t->state == TALK_STALLED && !t->began; }

/* Where bulk stalled: how large may packets be? All sizes at once, the largest that passes. */
static int fit(struct mesh_self *s, struct err *e)
{
	struct talk *v = arena_alloc(s->a, s->n * ARRAY_LEN(mtus) * sizeof(*v));
	size_t *who = arena_alloc(s->a, s->n * ARRAY_LEN(mtus) * sizeof(*who)), n = 0;
	unsigned *mtu = arena_alloc(s->a, s->n * ARRAY_LEN(mtus) * sizeof(*mtu));

	for (size_t to = 0; to < s->n; to++)
		for (size_t i = 0; i < ARRAY_LEN(mtus) && is_swallowed(&s->talks[to]); i++) {
			bool v6 = s->addrs[to].sa.sa_family == AF_INET6;

			if ((s->local.s.iface && mtus[i] >= s->local.s.iface->mtu) ||
			    (v6 && mtus[i] < LEAST_MTU6))
				continue;
			aim(s, to, &v[n]);
			v[n].max_segment = (int)mtus[i] - (v6 ? HEADERS6 : HEADERS);
			who[n] = to;
			mtu[n++] = mtus[i];
		}
	if (run(s, v, n, TALK_PARALLEL * ARRAY_LEN(mtus), e))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (v[i].state == TALK_DONE && mtu[i] > s->fits[who[i]])
			s->fits[who[i]] = mtu[i];
	return 0;
}

/* There and back when nothing else was on the way; more is a queue's. */
static uint64_t rtt_to(const struct mesh_self *s, size_t to)
{
	uint64_t least = s->talks[to].rtt_ns, asked;

	for (size_t i = 0; i < s->reach.n; i++) {
		const struct reach_result *x = &s->reach.v[i];

		if (s->target_rank[x->target - s->targets.v] != to ||
		    !port_state_is_reached(x->state) || !(x->ms > 0))
			continue;
		asked = (uint64_t)(x->ms * (float)NS_PER_MS);
		least = asked < least ? asked : least;
	}
	return least;
}

/* A connection's first flights are small, and each takes a round trip. */
static bool is_slow(const struct mesh_self *s, size_t to, const struct talk *t)
{
	static const uint64_t least = 100 * NS_PER_MS;

	return t->state == TALK_DONE && t->way_ns > least && t->way_ns > least + 10 * rtt_to(s, to);
}

/* A few that stalled may have been crowded out by the others. */
static int once_more(struct mesh_self *s, struct talk *v, const size_t *who, size_t n,
		     struct err *e)
{
	enum { FEW = 4 };
	struct talk few[FEW];
	size_t which[FEW], stalled = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].state != TALK_STALLED)
			continue;
		if (stalled == FEW)
			return 0;
		aim(s, who[i], &few[stalled]);
		few[stalled].bytes = v[i].bytes;
		which[stalled++] = i;
	}
	if (run(s, few, stalled, FEW, e))
		return -1;
	for (size_t k = 0; k < stalled; k++)
		v[which[k]] = few[k];
	return 0;
}

/* Where bulk took long: is it so again, with more than what shapers let through at first? */
static int crawl(struct mesh_self *s, struct err *e)
{
	struct talk *v = arena_alloc(s->a, s->n * sizeof(*v));
	size_t *who = arena_alloc(s->a, s->n * sizeof(*who)), n = 0;

	for (size_t to = 0; to < s->n; to++) {
		if (!is_slow(s, to, &s->talks[to]))
			continue;
		aim(s, to, &v[n]);
		v[n].bytes *= 2;
		who[n++] = to;
	}
	if (run(s, v, n, TALK_PARALLEL, e) || once_more(s, v, who, n, e))
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (v[i].state == TALK_STALLED) {
			s->talks[who[i]].state = TALK_STALLED;
			s->talks[who[i]].began = true;
		}
		if (is_slow(s, who[i], &v[i]))
			s->crawl_mbps[who[i]] =
				(float)((double)v[i].bytes * 8e3 / (double)v[i].way_ns);
	}
	return 0;
}

int mesh_bulk(struct mesh_self *s, struct err *e)
{
	struct talk *v = arena_alloc(s->a, s->n * sizeof(*v));
	size_t *who = arena_alloc(s->a, s->n * sizeof(*who)), n = 0;
	bool swallowed = false;

	for (size_t k = 1; k < s->n; k++) {
		size_t to = (s->me + k) % s->n;

		if (!is_talked_to(s, to))
			continue;
		aim(s, to, &v[n]);
		who[n++] = to;
	}
	if (run(s, v, n, TALK_PARALLEL, e))
		return -1;
	for (size_t i = 0; i < n; i++) {
		s->talks[who[i]] = v[i];
		swallowed |= is_swallowed(&v[i]);
	}
	if ((swallowed && fit(s, e)) || crawl(s, e))
		return -1;
	return rdzv_barrier(s->rdzv, e); /* or somebody would knock where nobody listens any more */
}

/* --- rates ------------------------------------------------------------------------- */
static int send_to(struct mesh_self *s, size_t to, struct err *e)
{
	struct talk v[STREAMS];
	double gbps = 0;

	for (size_t i = 0; i < STREAMS; i++) {
		aim(s, to, &v[i]);
		v[i].bytes = 0;
		v[i].for_ns = s->o->rate_ns;
	}
	if (run(s, v, STREAMS, STREAMS, e))
		return -1;
	for (size_t i = 0; i < STREAMS; i++)
		if (v[i].state == TALK_DONE && v[i].took_ns)
			gbps += (double)v[i].arrived * 8 / (double)v[i].took_ns;
	s->gbps[to] = gbps > 0 ? (float)gbps : NAN;
	return 0;
}

/* One way, then the other: each alone on the link. */
static int one_round(struct mesh_self *s, size_t partner, struct err *e)
{
	bool good = partner < s->n && s->talks[partner].state == TALK_DONE;

	for (int way = 0; way < 2; way++) {
		if (good && (s->me < partner) == !way && send_to(s, partner, e))
			return -1;
		if (rdzv_barrier(s->rdzv, e))
			return -1;
	}
	return 0;
}

int mesh_rates(struct mesh_self *s, struct err *e)
{
	s->gbps = arena_alloc(s->a, s->n * sizeof(*s->gbps));
	for (size_t i = 0; i < s->n; i++)
		s->gbps[i] = NAN;
	for (size_t round = 0; round < pair_rounds(s->n); round++)
		if (one_round(s, pair_partner(s->n, round, s->me), e))
			return -1;
	return 0;
}
