/* What a rank tells the others through the exchange, and what follows from it. */
#include "bench/comm/tcp_cards.h"
#include "lib/core/file.h"

#include <netinet/tcp.h>
#include <sched.h>
#include <sys/random.h>

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
	return 0;
}

/*
 * Ranks that were just started may all sit on one processor, and where one spins
 * there the other one waits. Each goes to its own once; then the kernel decides.
 */
static void spread(unsigned nth)
{
	cpu_set_t all, one;
	int cpu = -1;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	for (unsigned seen = 0; seen <= nth && cpu + 1 < CPU_SETSIZE;)
		seen += CPU_ISSET(++cpu, &all) != 0;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (CPU_ISSET(cpu, &all) && !sched_setaffinity(0, sizeof(one), &one))
		(void)sched_setaffinity(0, sizeof(all), &all);
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
	if (!t->crowded)
		spread(before);
	t->nsockets = cards[0].sockets ? cards[0].sockets : t->comm.size == 2 ? 2 : 1;
	if (t->nsockets > TCP_SOCKETS_MAX)
		t->nsockets = TCP_SOCKETS_MAX;
}

void cards_describe(struct tcp *t)
{
	char control[16] = "unknown";
	socklen_t n = sizeof(control) - 1;
	int other = t->comm.rank ? 0 : 1;

	if (t->comm.size == 1) {
		(void)snprintf(t->transport, sizeof(t->transport), "a single rank: memory only");
		return;
	}
	(void)getsockopt(t->lanes[(size_t)other * t->nsockets].fd, IPPROTO_TCP, TCP_CONGESTION,
			 control, &n);
	(void)snprintf(t->transport, sizeof(t->transport), "%u socket%s per pair of ranks, %s",
		       t->nsockets, t->nsockets > 1 ? "s" : "", control);
}
