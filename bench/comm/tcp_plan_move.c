/* Plans that only move data, block by block, between all pairs at the same time. */
#include "bench/comm/tcp_core.h"

enum { SMALL = 64 << 10 };

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

/* What goes to and comes from one peer. */
struct trade {
	const char *out;
	char *in;
	size_t out_n, in_n;
};

static size_t sum(const size_t *counts, int n)
{
	size_t total = 0;

	for (int i = 0; i < n; i++)
		total += counts[i];
	return total;
}

static struct trade trade_with(const struct tcp *t, int p)
{
	const struct comm_request *q = &t->q;
	int me = t->comm.rank, size = t->comm.size;
	size_t n = q->count * t->element, there = (size_t)p * n, out, in;
	const char *send = q->send;
	char *recv = q->recv;

	switch (q->kind) {
	case COLL_ALL_GATHER:
		return (struct trade){send, recv + there, n, n};
	case COLL_GATHER:
		return (struct trade){send, me == q->root ? recv + there : NULL,
				      p == q->root ? n : 0, me == q->root ? n : 0};
	case COLL_SCATTER:
		return (struct trade){me == q->root ? send + there : NULL, recv,
				      me == q->root ? n : 0, p == q->root ? n : 0};
	case COLL_ALLTOALLV:
		out = sum(q->send_counts, p) * t->element;
		in = sum(q->recv_counts, p) * t->element;
		return (struct trade){out ? send + out : send, /* who gets nothing may have none */
				      in ? recv + in : recv, q->send_counts[p] * t->element,
				      q->recv_counts[p] * t->element};
	case COLL_SENDRECV:
		return (struct trade){send, recv, p == (me + 1) % size ? n : 0,
				      (p + 1) % size == me ? n : 0};
	default: /* alltoall */
		return (struct trade){send + there, recv + there, n, n};
	}
}

/* The peer to whom the same bytes of an in-place exchange have to go first, or -1. */
static int held_by(const struct tcp *t, int from)
{
	if (t->q.send != t->q.recv)
		return -1;
	if (t->q.kind == COLL_SENDRECV)
		return (t->comm.rank + 1) % t->comm.size;
	return t->q.kind == COLL_ALLTOALL || t->q.kind == COLL_ALLTOALLV ? from : -1;
}

static void trade_block(struct tcp *t, const struct trade *trades, size_t b, bool out)
{
	size_t at = b * TCP_BLOCK;

	for (int k = 0; k < t->comm.size; k++) {
		int p = plan_partner(t, k), held = held_by(t, p);
		const struct trade *x = &trades[p];

		if (p == t->comm.rank)
			continue;
		if (out && at < x->out_n)
			plan_send(t, p, b, x->out + at, min_size(x->out_n - at, TCP_BLOCK), 0);
		if (out || at >= x->in_n)
			continue;
		plan_store(t, p, b, x->in + at, min_size(x->in_n - at, TCP_BLOCK));
		if (held >= 0)
			plan_hold(t, held, b);
	}
}

void plan_exchange(struct tcp *t)
{
	AUTO(arena_done) struct arena a = {0};
	struct trade *trades = arena_alloc(&a, (size_t)t->comm.size * sizeof(*trades)), *own;
	size_t longest = 0;

	for (int p = 0; p < t->comm.size; p++) {
		trades[p] = trade_with(t, p);
		longest = longest > trades[p].out_n ? longest : trades[p].out_n;
		longest = longest > trades[p].in_n ? longest : trades[p].in_n;
	}
	for (size_t b = 0; b * TCP_BLOCK < longest; b++) {
		trade_block(t, trades, b, true);
		trade_block(t, trades, b, false);
	}
	own = &trades[t->comm.rank];
	plan_copy(t, own->in, own->out, min_size(own->in_n, own->out_n));
}

static void by_tree(struct tcp *t, const char *from, size_t n)
{
	struct tree tree;

	plan_tree(t, t->q.root, &tree);
	if (tree.parent >= 0)
		plan_store(t, tree.parent, 0, t->q.recv, n);
	for (int i = 0; i < tree.nchildren; i++)
		plan_send(t, tree.children[i], 0, from, n, plan_now(t));
}

/* Every rank passes each block on to the next one as soon as it has it. */
static void by_chain(struct tcp *t, const char *from, size_t n)
{
	int size = t->comm.size, next = (t->comm.rank + 1) % size;
	int before = (t->comm.rank + size - 1) % size;

	for (size_t b = 0, at = 0; at < n; b++, at += TCP_BLOCK) {
		size_t part = min_size(n - at, TCP_BLOCK);

		if (t->comm.rank != t->q.root)
			plan_store(t, before, b, (char *)t->q.recv + at, part);
		if (next != t->q.root)
			plan_send(t, next, b, from + at, part,
				  t->comm.rank == t->q.root ? 0 : plan_now(t));
	}
}

void plan_broadcast(struct tcp *t)
{
	size_t n = t->q.count * t->element;
	bool root = t->comm.rank == t->q.root;
	const char *from = root ? t->q.send : t->q.recv;

	if (n <= SMALL || t->comm.size == 1)
		by_tree(t, from, n);
	else
		by_chain(t, from, n);
	if (root)
		plan_copy(t, t->q.recv, from, n);
}

/* After round k a rank has heard, directly or not, of 2^k others. */
void plan_barrier(struct tcp *t)
{
	int n = t->comm.size;

	for (int d = 1; d < n; d *= 2) {
		plan_send(t, (t->comm.rank + d) % n, 0, &t->token, 1, plan_now(t));
		plan_store(t, (t->comm.rank + n - d) % n, 0, &t->token, 1);
	}
}
