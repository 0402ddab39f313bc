/* What a rank tells the others through the exchange, and what follows from it. */
#include "bench/comm/tcp_cards.h"
#include "lib/core/units.h"
#include "lib/host/processors.h"

#include <netinet/tcp.h>
#include <sched.h>
#include <sodium.h>

static const uint64_t HOME_PAUSE_NS = NS_PER_MS / 2, HOME_PAUSE_MOST_NS = 100 * NS_PER_MS;

/* The congestion control of a socket: "reno". */
struct control {
	char name[16];
};
static struct control control_of(int fd)
{
	struct control c = {"unknown"};
	socklen_t n = sizeof(c.name) - 1;

	(void)getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, c.name, &n);
	return c;
}

int card_make(const struct tcp_opts *o, int door, struct tcp_card *ret, struct err *e)
{
	socklen_t n = sizeof(ret->at);

	if (sodium_init() < 0)
		return err_set(e, ERR_SYS, "this host has no randomness to make a key of");
	randombytes_buf(ret->key, sizeof(ret->key)); /* also where getrandom() is refused */
	if (getsockname(door, &ret->at.sa, &n))
		return err_sys(e, "cannot learn the port in use");
	ret->place = comm_place_here(o->host);
	ret->processors = processors_usable();
	ret->allowed = processors_allowed();
	ret->budget = processors_budget();
	ret->first_processor = (uint32_t)processors_allowed_nth(0);
	ret->sockets = o->sockets;
	ret->paced = starts_with(control_of(door).name, "bbr");
	return 0;
}

/* Where we are not there yet: goes, and lets the kernel move us again. */
static bool move_to(int cpu)
{
	cpu_set_t all, one;

	if (cpu < 0 || sched_getcpu() == cpu || sched_getaffinity(0, sizeof(all), &all))
		return false;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return !sched_setaffinity(0, sizeof(one), &one) && !sched_setaffinity(0, sizeof(all), &all);
}

void tcp_go_home(struct tcp *t)
{
	uint64_t now = now_ns();

	if (t->home < 0 || now < t->home_next_ns)
		return;
	/* driven away again and again: somebody else needs that processor */
	t->home_pause_ns = move_to(t->home) ? t->home_pause_ns * 2 : HOME_PAUSE_NS;
	if (t->home_pause_ns > HOME_PAUSE_MOST_NS)
		t->home_pause_ns = HOME_PAUSE_MOST_NS;
	t->home_next_ns = now + t->home_pause_ns;
}

/* --- what follows, on all ranks alike from the same cards ----------------------------------- */

static bool beside(const struct tcp_card *a, const struct tcp_card *b)
{
	return comm_place_is_beside(&a->place, &b->place);
}

/* Of a machine: srun gives each rank its own processors, others share what all may use. */
static bool share_processors(const struct tcp_card *a, const struct tcp_card *b)
{
	return a->first_processor == b->first_processor && beside(a, b);
}

static bool is_first(const struct tcp_card *cards, int p,
		     bool (*same)(const struct tcp_card *, const struct tcp_card *))
{
	int first = 0;

	while (first < p && !same(&cards[first], &cards[p]))
		first++;
	return first == p;
}

/* Of a machine: pods there have quotas of their own. */
static bool share_budget(const struct tcp_card *a, const struct tcp_card *b)
{
	return a->budget == b->budget && beside(a, b);
}

static bool share_both(const struct tcp_card *a, const struct tcp_card *b)
{
	return share_processors(a, b) && share_budget(a, b);
}

/* Those of @of's mask, as far as control groups give their time to ranks of ours. */
static unsigned processors_of(const struct tcp_card *cards, int ranks, const struct tcp_card *of)
{
	unsigned time = 0;

	for (int p = 0; p < ranks && time < of->allowed; p++)
		if (share_processors(&cards[p], of) && is_first(cards, p, share_both))
			time += cards[p].processors;
	return time < of->allowed ? time : of->allowed;
}

/* What a rank itself may use is for too many: its control group's time, or its machine. */
static bool is_crowded(const struct tcp_card *cards, int ranks, const struct tcp_card *of)
{
	unsigned here = 0, within = 0, processors = 0;

	for (int p = 0; p < ranks; p++) {
		if (!beside(&cards[p], of))
			continue;
		here++;
		within += of->budget && share_budget(&cards[p], of);
		processors += is_first(cards, p, share_processors)
				      ? processors_of(cards, ranks, &cards[p])
				      : 0;
	}
	return here > processors || within > of->processors;
}

static bool is_crowded_anywhere(const struct tcp_card *cards, int ranks)
{
	for (int p = 0; p < ranks; p++)
		if (is_first(cards, p, share_budget) && is_crowded(cards, ranks, &cards[p]))
			return true;
	return false;
}

/* Nothing is between them but one kernel's memory. */
static bool over_loopback(const struct tcp_card *a, const struct tcp_card *b)
{
	return beside(a, b) && addr_equal(&a->at, &b->at);
}

static bool all_are(const struct tcp_card *cards, int ranks,
		    bool (*so)(const struct tcp_card *, const struct tcp_card *))
{
	int p = 1;

	while (p < ranks && so(&cards[p], &cards[0]))
		p++;
	return p == ranks;
}

/*
 * One flow is paced (bbr) or halved by a loss (reno) at a time. Many ranks have
 * enough flows; and where nothing is paced and nothing but memory is between them,
 * more flows than one only drive each other's data out of the cache. Of two ranks
 * one flow fills that: there it is so with pacing, too.
 */
static unsigned usual_sockets(const struct tcp_card *cards, int ranks)
{
	if (ranks == 2)
		return all_are(cards, ranks, over_loopback) ? 1 : 4;
	if (!cards[0].paced && is_crowded(cards, ranks, &cards[0]) && all_are(cards, ranks, beside))
		return 1;
	return ranks <= 8 ? 3 : 1;
}

void cards_read(struct tcp *t, struct tcp_card *cards)
{
	const struct tcp_card *own = &cards[t->comm.rank];
	unsigned before = 0;

	for (int p = 0; p < t->comm.size; p++)
		comm_place_end(&cards[p].place);
	for (int p = 0; p < t->comm.size; p++) {
		struct tcp_peer *peer = &t->peers[p];
		struct tcp_card *c = &cards[p];

		memcpy(peer->host, c->place.host, sizeof(peer->host));
		(void)addr_print(&c->at, &peer->address);
		peer->pub = (struct comm_peer){
			.host = peer->host, .address = peer->address.s, .pid = (int)c->place.pid};
		peer->is_local = beside(c, own);
		peer->is_looped = over_loopback(c, own);
		peer->pub.same_machine = peer->is_local;
		before += share_processors(c, own) && p < t->comm.rank;
	}
	t->crowded = is_crowded(cards, t->comm.size, own);
	t->few_messages = is_crowded_anywhere(cards, t->comm.size);
	t->home = t->crowded ? -1 : processors_allowed_nth(before);
	t->home_pause_ns = HOME_PAUSE_NS;
	tcp_go_home(t);
	t->nsockets = cards[0].sockets ? cards[0].sockets : usual_sockets(cards, t->comm.size);
	if (t->nsockets > TCP_SOCKETS_MAX)
		t->nsockets = TCP_SOCKETS_MAX;
}

void cards_describe(struct tcp *t)
{
	int other = t->comm.rank ? 0 : 1;

	if (t->comm.size == 1) {
		(void)snprintf(t->transport, sizeof(t->transport), "a single rank: memory only");
		return;
	}
	(void)snprintf(t->transport, sizeof(t->transport), "%u socket%s per pair of ranks, %s",
		       t->nsockets, t->nsockets > 1 ? "s" : "",
		       control_of(t->lanes[(size_t)other * t->nsockets].fd).name);
}
