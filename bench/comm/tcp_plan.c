#include "bench/comm/tcp_core.h"

void plan_begin(struct tcp *t)
{
	for (size_t i = 0; i < t->nlanes; i++)
		t->lanes[i].sends.n = 0;
	t->steps.n = 0;
	t->out_of_memory = false;
}

static size_t lane_of(const struct tcp *t, int peer, size_t block)
{
	return (size_t)peer * t->nsockets + block % t->nsockets;
}

void plan_send(struct tcp *t, int peer, size_t block, const void *p, size_t n, size_t after)
{
	struct tcp_lane *l = &t->lanes[lane_of(t, peer, block)];

	if (n)
		*LIST_ADD(&t->arena, &l->sends) = (struct tcp_send){p, n, after};
}

static struct tcp_step *add(struct tcp *t, const struct tcp_step *s)
{
	struct tcp_step *new = LIST_ADD(&t->arena, &t->steps);

	*new = *s;
	new->hold_lane = NO_HOLD;
	return new;
}

void plan_store(struct tcp *t, int peer, size_t block, void *to, size_t n)
{
	if (n)
		(void)add(t, &(struct tcp_step){.kind = STEP_STORE,
						.lane = lane_of(t, peer, block),
						.to = to,
						.n = n});
}

struct tcp_step *plan_reduce(struct tcp *t, int peer, size_t block, void *to, const void *with,
			     size_t n)
{
	return add(t, &(struct tcp_step){.kind = STEP_REDUCE,
					 .lane = lane_of(t, peer, block),
					 .to = to,
					 .with = with,
					 .n = n});
}

void plan_copy(struct tcp *t, void *to, const void *from, size_t n)
{
	if (n && to != from)
		(void)add(t, &(struct tcp_step){.kind = STEP_COPY, .to = to, .with = from, .n = n});
}

void plan_hold(struct tcp *t, int peer, size_t block)
{
	struct tcp_step *s = plan_last(t);

	s->hold_lane = lane_of(t, peer, block);
	s->hold_sends = t->lanes[s->hold_lane].sends.n;
}

struct tcp_step *plan_last(struct tcp *t) { return &t->steps.v[t->steps.n - 1]; }
size_t plan_now(const struct tcp *t) { return t->steps.n; }

static char *room(char **p, size_t *had, size_t n)
{
	if (n > *had || !*p) { /* nothing has a place, too: NULL is no memory */
		free(*p);
		*p = aligned_alloc(64, (n / 64 + 1) * 64);
		*had = *p ? n : 0;
	}
	return *p;
}

char *plan_temp(struct tcp *t, size_t n)
{
	t->out_of_memory = !room(&t->temp, &t->temp_n, n);
	return t->temp;
}

static bool is_multiplied(const struct tcp *t, const struct comm_request *q)
{
	bool reduces = q->kind == COLL_ALL_REDUCE || q->kind == COLL_REDUCE ||
		       q->kind == COLL_REDUCE_SCATTER;

	return reduces && redop_times(q->op, t->comm.rank) > 1;
}

bool plan_multiply(struct tcp *t, struct comm_request *q)
{
	size_t n = q->count * (q->kind == COLL_REDUCE_SCATTER ? (size_t)t->comm.size : 1);

	if (!is_multiplied(t, q))
		return true;
	if (!room(&t->multiplied, &t->multiplied_n, n * dtype_size(q->type)))
		return false;
	/* twice is what a value and itself are together, in each type */
	reduce_find(q->type, OP_SUM)(t->multiplied, q->send, q->send, n);
	q->send = t->multiplied;
	return true;
}

/*
 * For small messages. Where ranks share processors the fewest messages win, and
 * a star has no inner node that must be scheduled twice; else a binomial tree.
 */
void plan_tree(const struct tcp *t, int root, struct tree *ret)
{
	int n = t->comm.size, me = (t->comm.rank - root + n) % n;
	bool star = t->few_messages && n <= 8;

	*ret = (struct tree){.parent = me ? (star ? root : ((me & (me - 1)) + root) % n) : -1};
	for (int d = 1; d < n && (star ? !me : !(me & d)); star ? d++ : (d <<= 1))
		if (me + d < n)
			ret->children[ret->nchildren++] = (me + d + root) % n;
}

void plan_request(struct tcp *t)
{
	static void (*const plans[COLL_KINDS])(struct tcp * t) = {
		[COLL_ALL_REDUCE] = plan_all_reduce,
		[COLL_ALL_GATHER] = plan_exchange,
		[COLL_REDUCE_SCATTER] = plan_reduce_scatter,
		[COLL_BROADCAST] = plan_broadcast,
		[COLL_REDUCE] = plan_reduce_to_root,
		[COLL_ALLTOALL] = plan_exchange,
		[COLL_ALLTOALLV] = plan_exchange,
		[COLL_GATHER] = plan_exchange,
		[COLL_SCATTER] = plan_exchange,
		[COLL_SENDRECV] = plan_exchange,
		[COLL_BARRIER] = plan_barrier,
	};

	plan_begin(t);
	t->element = dtype_size(t->q.type);
	t->reduce = reduce_find(t->q.type, t->q.op);
	plans[t->q.kind](t);
}
