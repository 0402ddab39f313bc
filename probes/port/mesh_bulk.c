/* Real data from this rank to the others: bulk to all, who answers and is none of ours, shapers;
 * then rates pair by pair. */
#include "probes/port/mesh_self.h"

#include "lib/cluster/pairs.h"
#include "lib/core/units.h"

#include <math.h>

enum { ENOUGH_SEGMENTS = 2000 }; /* to speak of a part of them */
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

/* At those that @is_one, at most so many, beginning with the next one; how many they are. */
static size_t aim_at(const struct mesh_self *s,
		     bool (*is_one)(const struct mesh_self *s, size_t to), size_t most,
		     struct talk *v, size_t *who)
{
	size_t n = 0;

	for (size_t k = 1; k < s->n && n < most; k++) {
		size_t to = (s->me + k) % s->n;

		if (!is_one(s, to))
			continue;
		aim(s, to, &v[n]);
		who[n++] = to;
	}
	return n;
}

/* @v: what to say; the answers go to s->talks of @who. From an address that went away nothing is to
 * be had but a timeout each. */
static int run(struct mesh_self *s, struct talk *v, size_t n, size_t parallel, struct err *e)
{
	if (mesh_is_gone(s))
		return 0;
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

/* ---- shapers ---- */
/* What a shaper lets through at first may be more than all bulk: it meets this much of it once, and
 * where that crawls, or is not all there in time, both ends are looked at again. */
enum { DRAIN_BYTES = 1 << 20, DRAINED_BYTES = 4 << 20, LEAST_BYTES = 16 << 10 };

/* To the next host that bulk came through to; 0: nothing crawls, else its rank and one more. */
static int drain(struct mesh_self *s, uint32_t *ret, struct err *e)
{
	struct talk t;
	size_t to = s->me;

	*ret = 0;
	for (size_t k = 1; k < s->n && to == s->me; k++)
		if (s->talks[(s->me + k) % s->n].state == TALK_DONE)
			to = (s->me + k) % s->n;
	if (to == s->me)
		return 0;
	aim(s, to, &t);
	t.bytes = DRAIN_BYTES;
	if (run(s, &t, 1, 1, e))
		return -1;
	if (t.state == TALK_STALLED || is_slow(s, to, &t))
		*ret = (uint32_t)to + 1;
	return 0;
}

/* Who has lost its address since it answered is asked no more, for seconds each time. */
static void leave_gone(struct mesh_self *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->gone[i])
			s->talks[i] = (struct talk){.state = TALK_UNREACHED};
}

/* Whom to ask again: who is at an end of what crawled, and all others of those. */
static int find_suspects(struct mesh_self *s, bool *suspect, struct err *e)
{
	const uint32_t gone = UINT32_MAX;
	uint32_t mine, *all = arena_alloc(s->a, s->n * sizeof(*all));

	if (drain(s, &mine, e))
		return -1;
	if (mesh_is_gone(s))
		mine = gone;
	if (rdzv_all_gather(s->rdzv, &mine, sizeof(mine), all, e))
		return -1;
	for (size_t i = 0; i < s->n; i++)
		if (all[i] && all[i] <= s->n)
			suspect[i] = suspect[all[i] - 1] = true;
	for (size_t i = 0; i < s->n; i++)
		s->gone[i] |= all[i] == gone;
	leave_gone(s);
	return 0;
}

/* Where bulk took long, or may: is it so again, with no more than what is soon through? */
static int crawl(struct mesh_self *s, struct err *e)
{
	struct talk *v = arena_alloc(s->a, s->n * sizeof(*v));
	size_t *who = arena_alloc(s->a, s->n * sizeof(*who)), n = 0;
	bool *suspect = arena_alloc(s->a, s->n * sizeof(*suspect));
	uint64_t least = DRAINED_BYTES / s->n;

	if (find_suspects(s, suspect, e))
		return -1;
	least = least < LEAST_BYTES ? LEAST_BYTES : least;
	for (size_t to = 0; to < s->n; to++) {
		bool slow = is_slow(s, to, &s->talks[to]);

		if (s->talks[to].state != TALK_DONE || (!slow && !suspect[s->me] && !suspect[to]))
			continue;
		aim(s, to, &v[n]);
		v[n].bytes = slow || 2 * v[n].bytes < least ? 2 * v[n].bytes : least;
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

/* ---- impostors ---- */
static struct reach_result *result_at(struct mesh_self *s, size_t to, uint16_t port)
{
	for (size_t i = 0; i < s->reach.n; i++)
		if (s->target_rank[s->reach.v[i].target - s->targets.v] == to &&
		    s->reach.v[i].port == port)
			return &s->reach.v[i];
	return NULL;
}

static bool has_only_accepted(const struct mesh_self *s, size_t to)
{
	return is_talked_to(s, to) && s->talks[to].state == TALK_UNREACHED && s->talks[to].accepted;
}

/* Who accepted, and said no word that one of ours would say, now and when it is asked again: where
 * not even its kernel took ours, what follows a handshake is lost. No more than a few are asked. */
static int find_impostors(struct mesh_self *s, struct err *e)
{
	enum { FEW = 8 };
	struct talk v[FEW];
	size_t who[FEW], n;

	n = aim_at(s, has_only_accepted, FEW, v, who);
	if (run(s, v, n, FEW, e))
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct reach_result *x = result_at(s, who[i], s->cards[who[i]].talk_port);

		s->talks[who[i]] = v[i];
		if (v[i].state != TALK_UNREACHED || !v[i].accepted || !x)
			continue;
		x->state = v[i].heard ? PORT_UNREACHABLE : PORT_FILTERED;
		x->cause = v[i].heard ? CAUSE_IMPOSTOR : CAUSE_DROPPED;
	}
	return 0;
}

int mesh_bulk(struct mesh_self *s, struct err *e)
{
	struct talk *v = arena_alloc(s->a, s->n * sizeof(*v));
	size_t *who = arena_alloc(s->a, s->n * sizeof(*who));
	size_t n = aim_at(s, is_talked_to, s->n, v, who);
	bool swallowed = false;

	if (run(s, v, n, TALK_PARALLEL, e))
		return -1;
	for (size_t i = 0; i < n; i++)
		s->talks[who[i]] = v[i];
	if (mesh_tell_gone(s, e))
		return -1;
	leave_gone(s);
	for (size_t i = 0; i < s->n; i++)
		swallowed |= is_swallowed(&s->talks[i]);
	if ((swallowed && fit(s, e)) || find_impostors(s, e) || crawl(s, e))
		return -1;
	/* before that somebody would knock where nobody listens any more */
	return mesh_tell_lost(s, e);
}

/* --- rates ------------------------------------------------------------------------- */
static int send_to(struct mesh_self *s, size_t to, struct err *e)
{
	struct talk v[STREAMS];
	uint64_t segments = 0, again = 0;
	double gbps = 0;

	for (size_t i = 0; i < STREAMS; i++) {
		aim(s, to, &v[i]);
		v[i].bytes = 0;
		v[i].for_ns = s->o->rate_ns;
	}
	if (run(s, v, STREAMS, STREAMS, e))
		return -1;
	for (size_t i = 0; i < STREAMS; i++) {
		if (v[i].state != TALK_DONE || !v[i].took_ns)
			continue;
		gbps += (double)v[i].arrived * 8 / (double)v[i].took_ns;
		segments += v[i].segments;
		again += v[i].again;
	}
	s->gbps[to] = gbps > 0 ? (float)gbps : NAN;
	s->again[to] = segments >= ENOUGH_SEGMENTS ? (float)again / (float)segments : NAN;
	return 0;
}

/* One way, then the other: each alone on the link. */
static int one_round(struct mesh_self *s, size_t partner, struct err *e)
{
	bool good = partner < s->n && s->talks[partner].state == TALK_DONE;

	for (int way = 0; way < 2; way++) {
		if (good && !s->gone[partner] && (s->me < partner) == !way &&
		    send_to(s, partner, e))
			return -1;
		if (mesh_tell_gone(s, e)) /* and waits for all of them */
			return -1;
	}
	return 0;
}

int mesh_rates(struct mesh_self *s, struct err *e)
{
	s->gbps = arena_alloc(s->a, s->n * sizeof(*s->gbps));
	s->again = arena_alloc(s->a, s->n * sizeof(*s->again));
	for (size_t i = 0; i < s->n; i++)
		s->gbps[i] = s->again[i] = NAN;
	for (size_t round = 0; round < pair_rounds(s->n); round++)
		if (one_round(s, pair_partner(s->n, round, s->me), e))
			return -1;
	return 0;
}
