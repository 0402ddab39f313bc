#include "bench/plugin/blocking.h"

void blocking_init(struct blocking *b, const struct comm_impl *impl, const struct comm_world *w)
{
	b->comm = (struct comm){.impl = impl, .rank = w->rank, .size = w->size};
	b->root = b;
	b->culprit = -1;
}

void blocking_init_part(struct blocking *b, struct blocking *from, const struct comm_group *g)
{
	b->comm = (struct comm){
		.impl = from->comm.impl, .rank = g->rank, .size = g->size, .origin = g->origin};
	b->root = from->root;
}

void blocking_done(struct blocking *b)
{
	if (blocking_is_part(b))
		return;
	watch_done(&b->watch);
	cards_done(&b->cards);
}

int blocking_failed(const struct blocking *b, struct err *e)
{
	*e = b->root->failure;
	return -1;
}

const struct comm_peer *blocking_peer(const struct comm *c, int rank)
{
	return &blocking_of(c)->root->cards.peers[comm_origin(c, rank)];
}

const char *blocking_transport(const struct comm *c) { return blocking_of(c)->root->transport; }

int blocking_test(struct comm *c, bool *ret_finished, struct err *e)
{
	*ret_finished = !blocking_of(c)->root->failure.kind;
	return *ret_finished ? 0 : blocking_failed(blocking_of(c), e);
}

int blocking_wait(struct comm *c, struct err *e)
{
	bool finished;

	return blocking_test(c, &finished, e);
}

void blocking_abort(struct comm *c, const char *reason)
{
	watch_abort(&blocking_of(c)->root->watch, reason);
}

int blocking_culprit(const struct comm *c, bool *ret_gone)
{
	const struct blocking *root = blocking_of(c)->root;

	if (ret_gone)
		*ret_gone = root->culprit >= 0;
	return root->culprit;
}

struct dev *blocking_memory(const struct comm_world *w UNUSED, struct err *e UNUSED)
{
	return &dev_host;
}
