/* The communicator's face: requests in, plans run, one request at a time. */
#include "bench/comm/tcp_core.h"
#include "lib/core/units.h"

#include <sys/eventfd.h>

static struct tcp *tcp_of(const struct comm *c) { return CONTAINER_OF(c, struct tcp, comm); }

static const struct comm_peer *peer(const struct comm *c, int rank)
{
	return &tcp_of(c)->peers[comm_origin(c, rank)].pub;
}

static const char *transport(const struct comm *c) { return tcp_of(c)->transport; }

static int run(struct tcp *t, bool wait, struct err *e)
{
	if (!t->running)
		return 0;
	if (t->root->failure.kind)
		return tcp_failed(t, e);
	if (tcp_run(t, wait, e)) {
		if (!t->root->failure.kind)
			t->root->failure = *e;
		return -1;
	}
	t->running = !tcp_finished(t);
	return 0;
}

/* The plan of the request before will do. */
static bool is_same(const struct comm_request *a, const struct comm_request *b)
{
	return a->kind == b->kind && a->send == b->send && a->recv == b->recv &&
	       a->count == b->count && a->type == b->type && a->op == b->op && a->root == b->root &&
	       a->kind != COLL_ALLTOALLV;
}

enum { LARGE = 256 << 10 }; /* beyond every tree */

static bool is_large(const struct comm_request *q)
{
	return q->kind == COLL_ALLTOALLV || q->count * dtype_size(q->type) >= LARGE;
}

static void rewind_plan(struct tcp *t)
{
	t->at = t->off = t->nbusy = 0;
	for (size_t i = 0; i < t->nlanes; i++) {
		t->lanes[i].at = t->lanes[i].off = 0;
		if (t->lanes[i].sends.n)
			t->busy[t->nbusy++] = i;
	}
}

static int start(struct comm *c, const struct comm_request *asked, struct err *e)
{
	struct tcp *t = tcp_of(c);
	struct comm_request own = *asked, *q = &own;

	if (t->root->active && run(t->root->active, true, e))
		return -1;
	if (t->root->failure.kind)
		return tcp_failed(t, e);
	if (tcp_abort_reason(t))
		return tcp_fail_aborted(t, tcp_abort_reason(t), e);
	if (tcp_is_part(t) && tcp_part_look(t, e))
		return -1;
	if (!plan_multiply(t, q))
		return tcp_fail_aborted(t, "no memory for what is multiplied", e);
	if (!t->planned || !is_same(q, &t->q)) {
		t->q = *q;
		plan_request(t);
		t->planned = !t->out_of_memory;
		if (t->out_of_memory)
			return tcp_fail_aborted(t, "no memory for partial results", e);
	}
	t->is_large = is_large(q);
	rewind_plan(t);
	t->running = true;
	t->root->active = t;
	return 0;
}

static int test(struct comm *c, bool *ret_finished, struct err *e)
{
	struct tcp *t = tcp_of(c);

	if (run(t, false, e))
		return -1;
	*ret_finished = !t->running;
	return 0;
}

static int wait_for(struct comm *c, struct err *e) { return run(tcp_of(c), true, e); }

static bool tally(const struct comm *c, struct comm_tally *ret)
{
	const struct tcp *t = tcp_of(c);

	for (int i = 0; i < c->size && tcp_is_part(t); i++)
		t->tallied_ns[i] = t->waited_ns[comm_origin(c, i)];
	*ret = (struct comm_tally){.sent_bytes = t->sent_bytes,
				   .waited_ns = tcp_is_part(t) ? t->tallied_ns : t->waited_ns};
	return true;
}

static void abort_comm(struct comm *c, const char *reason)
{
	struct tcp *t = tcp_of(c)->root;
	static const uint64_t one = 1;

	__atomic_store_n(&t->abort_reason, reason, __ATOMIC_RELEASE);
	(void)!write(t->abort_fd, &one, sizeof(one));
}

static int culprit(const struct comm *c, bool *ret_gone)
{
	if (ret_gone)
		*ret_gone = tcp_of(c)->root->culprit_gone;
	return tcp_of(c)->root->culprit;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		(void)close(fd);
}

static void tcp_free(struct tcp *t)
{
	for (size_t i = 0; t->lanes && i < t->nlanes; i++)
		close_fd(t->lanes[i].fd);
	for (int i = 0; t->peers && i < t->comm.size; i++)
		close_fd(t->peers[i].words);
	close_fd(t->abort_fd);
	free(t->scratch);
	free(t->peers);
	tcp_own_free(t);
}

static void free_comm(struct comm *c)
{
	struct tcp *t = tcp_of(c);
	struct err e = {0};
	bool well = !t->root->failure.kind && !run(t, true, &e);

	if (tcp_is_part(t)) {
		tcp_part_free(t);
		return;
	}
	if (well && !comm_barrier(c, &e))
		tcp_goodbye(t);
	tcp_free(t);
}

static const struct comm_impl impl = {
	.caps = {.backend = "tcp",
		 .kinds = (1u << COLL_KINDS) - 1,
		 .types = DT_ALL,
		 .ops = OP_ALL,
		 .memory = COMM_HOST,
		 .in_place_exchange = true},
	.peer = peer,
	.transport = transport,
	.start = start,
	.test = test,
	.wait = wait_for,
	.abort = abort_comm,
	.culprit = culprit,
	.free = free_comm,
	.wire = tcp_wire,
	.tally = tally,
	.split = tcp_split,
};

static struct tcp *tcp_new(const struct tcp_opts *o)
{
	struct tcp *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct tcp){.comm = {.impl = &impl, .rank = o->rank, .size = o->size},
			  .deadline_ns = o->deadline_ns ? o->deadline_ns : 10 * NS_PER_S,
			  .deadline_given = o->deadline_given,
			  .stop_fds = {o->stop_fds[0], o->stop_fds[1]},
			  .root = t,
			  .npeers = o->size,
			  .culprit = -1};
	t->abort_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	t->peers = calloc((size_t)o->size, sizeof(*t->peers));
	t->waited_ns = calloc((size_t)o->size, sizeof(*t->waited_ns));
	t->scratch = aligned_alloc(4096, TCP_BLOCK);
	for (int i = 0; t->peers && i < o->size; i++)
		t->peers[i] = (struct tcp_peer){
			.words = -1, .blames = -1, .deaf = -1, .closed = i == o->rank};
	if (t->abort_fd >= 0 && t->peers && t->waited_ns && t->scratch)
		return t;
	tcp_free(t);
	return NULL;
}

/* Patient: whoever could not connect says so first, and knows better who is at fault. */
static int meet_all(struct tcp *t, struct err *e)
{
	uint64_t deadline_ns = t->deadline_ns;
	int result;

	t->deadline_ns += 2 * NS_PER_S;
	result = comm_barrier(&t->comm, e);
	t->deadline_ns = deadline_ns;
	return result;
}

struct comm *tcp_comm_new(const struct tcp_opts *o, int *ret_culprit, struct err *e)
{
	struct tcp *t = tcp_new(o);

	*ret_culprit = -1;
	if (!t) {
		err_sys(e, "cannot make a communicator");
		return NULL;
	}
	if (!tcp_connect(t, o, e) && !meet_all(t, e))
		return &t->comm;
	*ret_culprit = t->culprit;
	tcp_free(t);
	return NULL;
}
