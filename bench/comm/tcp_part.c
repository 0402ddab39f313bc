/*
 * A part of the ranks: plans of its own over the connections that are there. Nothing
 * is sent to make one, and a death in it is heard where it always is: on the root's
 * sockets for last words.
 */
#include "bench/comm/tcp_core.h"
#include "lib/core/units.h"

static const uint64_t LOOK_NS = 50 * NS_PER_MS;

void tcp_own_free(struct tcp *t)
{
	arena_done(&t->arena);
	free(t->tallied_ns);
	free(t->waited_ns);
	free(t->temp);
	free(t->multiplied);
	free(t->set);
	free(t->busy);
	free(t->lanes);
	free(t);
}

void tcp_part_free(struct tcp *t)
{
	if (t->root->active == t)
		t->root->active = NULL;
	tcp_own_free(t);
}

/* The same sockets, numbered by our ranks. */
static void take_lanes(struct tcp *t, const struct tcp *from, const int *members)
{
	for (size_t i = 0; i < t->nlanes; i++) {
		size_t of = (size_t)members[i / t->nsockets] * t->nsockets + i % t->nsockets;

		t->lanes[i] =
			(struct tcp_lane){.fd = from->lanes[of].fd, .peer = from->lanes[of].peer};
	}
}

static struct tcp *part_new(struct tcp *from, const struct comm_group *g)
{
	struct tcp *t = calloc(1, sizeof(*t)), *root = from->root;
	size_t size = (size_t)g->size;

	if (!t)
		return NULL;
	*t = (struct tcp){
		.comm = {.impl = from->comm.impl, .rank = g->rank, .size = g->size},
		.root = root,
		.npeers = root->npeers,
		.deadline_ns = from->deadline_ns,
		.deadline_given = from->deadline_given,
		.stop_fds = {from->stop_fds[0], from->stop_fds[1]},
		.peers = root->peers,
		.nsockets = from->nsockets,
		.nlanes = size * from->nsockets,
		.crowded = from->crowded,
		.few_messages = from->few_messages,
		.home = from->home,
		.home_pause_ns = from->home_pause_ns,
		.scratch = root->scratch,
		.abort_fd = root->abort_fd,
		.culprit = -1,
	};
	memcpy(t->transport, root->transport, sizeof(t->transport));
	t->lanes = calloc(t->nlanes, sizeof(*t->lanes));
	t->busy = calloc(t->nlanes, sizeof(*t->busy));
	t->set = calloc(TCP_POLL_FIXED + (size_t)t->npeers + t->nlanes, sizeof(*t->set));
	t->waited_ns = calloc((size_t)t->npeers, sizeof(*t->waited_ns));
	t->tallied_ns = calloc(size, sizeof(*t->tallied_ns));
	if (t->lanes && t->busy && t->set && t->waited_ns && t->tallied_ns)
		return t;
	tcp_part_free(t);
	return NULL;
}

int tcp_split(struct comm *c, const struct comm_group *g, struct comm **ret, struct err *e)
{
	struct tcp *from = CONTAINER_OF(c, struct tcp, comm), *t;

	if (!g->size)
		return 0;
	t = part_new(from, g);
	if (!t)
		return err_sys(e, "cannot make a communicator of %d ranks", g->size);
	t->comm.origin = g->origin;
	take_lanes(t, from, g->members);
	*ret = &t->comm;
	return 0;
}

int tcp_part_look(struct tcp *t, struct err *e)
{
	struct pollfd *set = t->set;
	int n = t->npeers;
	uint64_t now = now_ns();

	if (now < t->root->look_ns)
		return 0;
	t->root->look_ns = now + LOOK_NS;
	for (int i = 0; i < n; i++)
		set[i] = (struct pollfd){.fd = t->peers[i].closed ? -1 : t->peers[i].words,
					 .events = POLLIN};
	for (int i = 0; i < 2; i++)
		set[n + i] = (struct pollfd){.fd = t->stop_fds[i], .events = POLLIN};
	if (poll(set, (nfds_t)n + 2, 0) <= 0)
		return 0;
	if (set[n].revents || set[n + 1].revents)
		return tcp_fail_aborted(t, "told to stop", e);
	for (int i = 0; i < n; i++)
		if (set[i].revents && tcp_hear(t, i, e))
			return -1;
	return 0;
}
