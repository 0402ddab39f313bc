/* What a rank tells the others through the exchange, and what follows from it. */
#include "bench/comm/tcp_cards.h"
#include "lib/core/file.h"
#include "lib/core/units.h"

#include <netinet/tcp.h>
#include <sched.h>
#include <sys/random.h>

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

int card_make(const struct tcp_opts *o, int door, struct card *ret, struct err *e)
{
	socklen_t n = sizeof(ret->at);
	AUTO(arena_done) struct arena a = {0};
	const char *machine = file_line(&a, "/proc/sys/kernel/random/boot_id");
	cpu_set_t cpus;

	if (getrandom(ret->key, sizeof(ret->key), 0) != sizeof(ret->key))
		return err_sys(e, "cannot make a key");
	if (getsockname(door, &ret->at.sa, &n))
		return err_sys(e, "cannot learn the port in use");
	(void)snprintf(ret->host, sizeof(ret->host), "%s", o->host ? o->host : "localhost");
	(void)snprintf(ret->machine, sizeof(ret->machine), "%s", machine ? machine : ret->host);
	ret->pid = (uint32_t)getpid();
	ret->processors =
		sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : (uint32_t)CPU_COUNT(&cpus);
	ret->sockets = o->sockets;
	ret->paced = starts_with(control_of(door).name, "bbr");
	return 0;
}

/* The @nth processor that we may run on; -1: there is none. */
static int find_home(unsigned nth)
{
	cpu_set_t all;
	int cpu = -1;

	if (sched_getaffinity(0, sizeof(all), &all))
		return -1;
	for (unsigned seen = 0; seen <= nth && cpu + 1 < CPU_SETSIZE;)
		seen += CPU_ISSET(++cpu, &all) != 0;
	return CPU_ISSET(cpu, &all) ? cpu : -1;
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

/*
 * One flow is paced (bbr) or halved by a loss (reno) at a time. Many ranks have
 * enough flows; and where nothing is paced and nothing but memory is between them,
 * more flows than one only drive each other's data out of the cache. Everybody must
 * come to the same number, so the first rank's view of the cards decides.
 */
static unsigned usual_sockets(const struct card *cards, int ranks)
{
	int beside = 0;

	for (int p = 0; p < ranks; p++)
		beside += strncmp(cards[p].machine, cards[0].machine, TCP_HOST_MAX) == 0;
	if (ranks > 2 && beside == ranks && (unsigned)ranks > cards[0].processors &&
	    !cards[0].paced)
		return 1;
	return ranks == 2 ? 4 : ranks <= 8 ? 3 : 1;
}

void cards_read(struct tcp *t, struct card *cards)
{
	const struct card *own = &cards[t->comm.rank];
	unsigned here = 0, before = 0;

	for (int p = 0; p < t->comm.size; p++) {
		struct tcp_peer *peer = &t->peers[p];
		struct card *c = &cards[p];

		c->host[sizeof(c->host) - 1] = c->machine[sizeof(c->machine) - 1] = '\0';
		memcpy(peer->host, c->host, sizeof(peer->host));
		(void)addr_print(&c->at, &peer->address);
		peer->pub = (struct comm_peer){
			.host = peer->host, .address = peer->address.s, .pid = (int)c->pid};
		peer->is_local = streq(c->machine, own->machine);
		peer->pub.same_machine = peer->is_local;
		here += peer->is_local;
		before += peer->is_local && p < t->comm.rank;
	}
	t->crowded = here > own->processors;
	t->home = t->crowded ? -1 : find_home(before);
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
