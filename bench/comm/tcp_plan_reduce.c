/*
 * Plans that reduce. Small buffers: recursive doubling (one message each way per
 * round), or up and down a tree where ranks share processors. Large ones: every
 * rank owns a part; all send it their share of that part block by block, it
 * reduces them in a fixed order and hands the result on while later blocks are
 * still on their way. That moves as little as a ring does, with two hops instead
 * of 2(n-1), and each peer's socket works at the same time.
 */
#include "bench/comm/tcp_core.h"

enum {
	LAG = 2, /* blocks sent ahead of the results: without them a lane would wait */
	SMALL_PAIR = 32 << 10,
	SMALL_MANY = 8 << 10,
	SMALL_CROWD = TCP_BLOCK, /* what is reduced arrives in one piece */
};

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

/* Part @i of @count elements split among all ranks, in bytes. */
struct part {
	size_t at, n;
};
static struct part split(const struct tcp *t, size_t count, int i)
{
	size_t ranks = (size_t)t->comm.size, r = (size_t)i, extra = count % ranks;
	size_t at = count / ranks * r + min_size(r, extra);

	return (struct part){at * t->element, (count / ranks + (r < extra)) * t->element};
}
static struct part block_of(struct part p, size_t b)
{
	size_t at = min_size(b * TCP_BLOCK, p.n);

	return (struct part){p.at + at, min_size(p.n - at, TCP_BLOCK)};
}

static bool is_small(const struct tcp *t)
{
	size_t bytes = t->q.count * t->element;

	if (t->comm.size == 2)
		return bytes <= SMALL_PAIR;
	/* few messages count where ranks share processors; too many ranks burden the root */
	return bytes <= (t->few_messages && t->comm.size <= 4 ? SMALL_CROWD : SMALL_MANY);
}

static void divide_last(struct tcp *t)
{
	if (t->q.op == OP_AVG)
		plan_last(t)->divide = true;
}

/* --- small ------------------------------------------------------------------- */

static void up_tree(struct tcp *t, const struct tree *tree, char *acc)
{
	size_t n = t->q.count * t->element;
	const void *mine = t->q.send;

	for (int i = 0; i < tree->nchildren; i++, mine = acc)
		(void)plan_reduce(t, tree->children[i], 0, acc, mine, n);
	if (tree->parent >= 0)
		plan_send(t, tree->parent, 0, mine, n, plan_now(t));
	else
		divide_last(t);
}

static void by_tree(struct tcp *t)
{
	size_t n = t->q.count * t->element;
	struct tree tree;

	plan_tree(t, 0, &tree);
	up_tree(t, &tree, t->q.recv);
	if (tree.parent >= 0) {
		plan_store(t, tree.parent, 0, t->q.recv, n);
		/* in place, a leaf's own share may still be on its way out */
		plan_hold(t, tree.parent, 0);
	}
	for (int i = 0; i < tree.nchildren; i++)
		plan_send(t, tree.children[i], 0, t->q.recv, n, plan_now(t));
}

static void by_doubling(struct tcp *t)
{
	int r = t->comm.rank, size = t->comm.size, pow2 = 1;
	size_t n = t->q.count * t->element;
	const void *mine = t->q.send;

	while (pow2 * 2 <= size)
		pow2 *= 2;
	if (r >= pow2) { /* one too many for the cube: a partner does it */
		plan_send(t, r - pow2, 0, mine, n, 0);
		plan_store(t, r - pow2, 0, t->q.recv, n);
		plan_hold(t, r - pow2, 0);
		return;
	}
	if (r + pow2 < size) {
		(void)plan_reduce(t, r + pow2, 0, t->q.recv, mine, n);
		mine = t->q.recv;
	}
	for (int d = 1; d < pow2; d *= 2, mine = t->q.recv) {
		plan_send(t, r ^ d, 0, mine, n, plan_now(t));
		plan_reduce(t, r ^ d, 0, t->q.recv, mine, n)->theirs_first = r & d;
		plan_hold(t, r ^ d, 0);
	}
	divide_last(t);
	if (r + pow2 < size)
		plan_send(t, r + pow2, 0, t->q.recv, n, plan_now(t));
}

/* --- large ------------------------------------------------------------------- */

struct direct {
	struct part (*part)(const struct tcp *t, size_t count, int i);
	char *own;	      /* where the reduced part of this rank is kept */
	bool to_all, to_root; /* who gets the results */
	size_t *ready;	      /* by block: the step at which its result is there */
	size_t blocks;
};

static void scatter_block(struct tcp *t, const struct direct *d, size_t b)
{
	const char *send = t->q.send;

	for (int k = 0; k < t->comm.size; k++) {
		int p = plan_partner(t, k);
		struct part theirs = block_of(d->part(t, t->q.count, p), b);

		if (p != t->comm.rank)
			plan_send(t, p, b, send + theirs.at, theirs.n, 0);
	}
}

static void reduce_block(struct tcp *t, const struct direct *d, size_t b)
{
	struct part own = d->part(t, t->q.count, t->comm.rank), mine = block_of(own, b);
	char *to = d->own + (mine.at - own.at);
	const char *with = (const char *)t->q.send + mine.at;

	for (int k = 0; k < t->comm.size && mine.n; k++) {
		int p = plan_partner(t, k);

		if (p == t->comm.rank)
			continue;
		(void)plan_reduce(t, p, b, to, with, mine.n);
		with = to;
	}
	if (mine.n)
		divide_last(t);
	d->ready[b] = plan_now(t);
}

static void spread_block(struct tcp *t, const struct direct *d, size_t b)
{
	int rank = t->comm.rank;
	struct part own = d->part(t, t->q.count, rank), mine = block_of(own, b);

	for (int k = 0; k < t->comm.size; k++) {
		int p = plan_partner(t, k);

		if (p != rank && (d->to_all || (d->to_root && p == t->q.root)))
			plan_send(t, p, b, d->own + (mine.at - own.at), mine.n, d->ready[b]);
	}
	if (!d->to_all && !(d->to_root && rank == t->q.root))
		return;
	for (int k = 0; k < t->comm.size; k++) {
		int p = plan_partner(t, k);
		struct part theirs = block_of(d->part(t, t->q.count, p), b);

		if (p != rank)
			plan_store(t, p, b, (char *)t->q.recv + theirs.at, theirs.n);
	}
}

static void plan_direct(struct tcp *t, struct direct *d)
{
	AUTO(arena_done) struct arena a = {0};
	size_t longest = d->part(t, t->q.count, 0).n;

	d->blocks = (longest + TCP_BLOCK - 1) / TCP_BLOCK;
	d->ready = arena_alloc(&a, (d->blocks + 1) * sizeof(*d->ready));
	for (size_t b = 0; b < d->blocks + LAG; b++) {
		if (b < d->blocks) {
			scatter_block(t, d, b);
			reduce_block(t, d, b);
		}
		if (b >= LAG)
			spread_block(t, d, b - LAG);
	}
}

void plan_all_reduce(struct tcp *t)
{
	struct direct d = {.part = split, .to_all = true};

	if (t->comm.size == 1 || !t->q.count) {
		plan_copy(t, t->q.recv, t->q.send, t->q.count * t->element);
	} else if (!is_small(t)) {
		d.own = (char *)t->q.recv + split(t, t->q.count, t->comm.rank).at;
		plan_direct(t, &d);
	} else if (t->few_messages && t->comm.size > 2) {
		by_tree(t);
	} else {
		by_doubling(t);
	}
}

void plan_reduce_to_root(struct tcp *t)
{
	size_t n = t->q.count * t->element;
	struct part own = split(t, t->q.count, t->comm.rank);
	struct direct d = {.part = split, .to_root = true};
	bool root = t->comm.rank == t->q.root;
	struct tree tree;

	if (t->comm.size == 1 || !t->q.count) {
		plan_copy(t, t->q.recv, t->q.send, n);
	} else if (is_small(t)) {
		plan_tree(t, t->q.root, &tree);
		up_tree(t, &tree, root ? t->q.recv : plan_temp(t, n));
	} else {
		d.own = root ? (char *)t->q.recv + own.at : plan_temp(t, own.n);
		if (d.own) /* else this rank gives up, and needs no plan */
			plan_direct(t, &d);
	}
}

/* @count is that of each part */
static struct part even(const struct tcp *t, size_t count, int i)
{
	return (struct part){count * t->element * (size_t)i, count * t->element};
}

void plan_reduce_scatter(struct tcp *t)
{
	struct direct d = {.part = even, .own = t->q.recv};

	if (t->comm.size == 1)
		plan_copy(t, t->q.recv, t->q.send, t->q.count * t->element);
	else
		plan_direct(t, &d);
}
