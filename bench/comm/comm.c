#include "bench/comm/comm.h"

#include <limits.h>

static const char *const kind_names[COLL_KINDS] = {
	"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",  "alltoall",
	"alltoallv",  "gather",	    "scatter",	      "sendrecv",  "barrier",
};

const char *coll_kind_name(enum coll_kind k) { return kind_names[k]; }
const struct comm_caps *comm_caps(const struct comm *c) { return &c->impl->caps; }
const struct comm_peer *comm_peer(const struct comm *c, int rank) { return c->impl->peer(c, rank); }
const char *comm_transport(const struct comm *c) { return c->impl->transport(c); }

int comm_check_type(const struct comm *c, enum dtype t, struct err *e)
{
	const struct comm_caps *caps = comm_caps(c);
	const char *name = (unsigned)t < DT_COUNT ? dtype_name(t) : "of such elements";

	if ((unsigned)t < DT_COUNT && caps->types >> t & 1)
		return 0;
	if (caps->lacks_types)
		return err_set(e, ERR_ABSENT, "%s cannot do %s here: %s", caps->backend, name,
			       caps->lacks_types);
	err_set(e, ERR_ABSENT, "%s knows no data type %s", caps->backend, name);
	return err_hint(
		e, "--backend tcp knows all of them, nccl as far as its version and the GPU do");
}

int comm_check_op(const struct comm *c, enum redop op, struct err *e)
{
	const struct comm_caps *caps = comm_caps(c);

	if ((unsigned)op < OP_COUNT && caps->ops >> op & 1)
		return 0;
	err_set(e, ERR_ABSENT, "%s does not know the reduction %s", caps->backend,
		(unsigned)op < OP_COUNT ? redop_name(op) : "asked for");
	return err_hint(e, "--backend tcp and --backend nccl do");
}

/* A wrong request is a mistake in our own program: it must not become a hang of all ranks. */
static int check(const struct comm *c, const struct comm_request *q, struct err *e)
{
	const struct comm_caps *caps = comm_caps(c);

	if ((unsigned)q->kind >= COLL_KINDS || !(caps->kinds >> q->kind & 1))
		return err_set(e, ERR_ABSENT, "%s has no %s", caps->backend,
			       (unsigned)q->kind < COLL_KINDS ? kind_names[q->kind] : "such thing");
	if (comm_check_type(c, q->type, e))
		return -1;
	if (comm_check_op(c, q->op, e))
		return -1;
	if (q->root < 0 || q->root >= c->size)
		return err_set(e, ERR_USAGE, "there is no rank %d to be the root", q->root);
	if (q->count > SIZE_MAX / 16 / (size_t)c->size)
		return err_set(e, ERR_USAGE, "%zu elements are too many", q->count);
	return 0;
}

int comm_start(struct comm *c, const struct comm_request *q, struct err *e)
{
	return check(c, q, e) ? -1 : c->impl->start(c, q, e);
}

int comm_test(struct comm *c, bool *ret_finished, struct err *e)
{
	return c->impl->test(c, ret_finished, e);
}

int comm_wait(struct comm *c, struct err *e) { return c->impl->wait(c, e); }

int comm_run(struct comm *c, const struct comm_request *q, struct err *e)
{
	return comm_start(c, q, e) ? -1 : comm_wait(c, e);
}

int comm_barrier(struct comm *c, struct err *e)
{
	const struct comm_request q = {.kind = COLL_BARRIER};

	return comm_run(c, &q, e);
}

int comm_group_begin(struct comm *c, struct err *e)
{
	return c->impl->group_begin ? c->impl->group_begin(c, e) : 0;
}

int comm_group_end(struct comm *c, struct err *e)
{
	return c->impl->group_end ? c->impl->group_end(c, e) : 0;
}

bool comm_can_capture(const struct comm *c) { return c->impl->capture_begin; }

int comm_capture_begin(struct comm *c, struct err *e)
{
	return comm_can_capture(c)
		       ? c->impl->capture_begin(c, e)
		       : err_set(e, ERR_ABSENT, "%s keeps no requests", comm_caps(c)->backend);
}

int comm_capture_end(struct comm *c, struct err *e) { return c->impl->capture_end(c, e); }
int comm_replay(struct comm *c, struct err *e) { return c->impl->replay(c, e); }

void comm_capture_forget(struct comm *c)
{
	if (comm_can_capture(c))
		c->impl->capture_forget(c);
}

static uint64_t total_of(const size_t *counts, int n)
{
	uint64_t total = 0;

	for (int i = 0; i < n; i++)
		total += counts[i];
	return total;
}

uint64_t comm_bytes(const struct comm_request *q, int ranks)
{
	uint64_t size = dtype_size(q->type), one = q->count * size, out, in;

	switch (q->kind) {
	case COLL_ALL_REDUCE:
		return 2 * one;
	case COLL_BROADCAST:
	case COLL_REDUCE:
	case COLL_SENDRECV:
	case COLL_BARRIER:
		return one;
	case COLL_ALLTOALLV:
		out = total_of(q->send_counts, ranks) * size;
		in = total_of(q->recv_counts, ranks) * size;
		return out > in ? out : in;
	default: /* of gather and scatter all wait for the root, which has the most to do */
		return one * (uint64_t)ranks;
	}
}

/* --- parts --------------------------------------------------------------------------- */

int comm_origin(const struct comm *c, int rank) { return c->origin ? c->origin[rank] : rank; }

struct wish { /* what a rank asked for; two ints, for a reduction of them all */
	int32_t colour, key;
};

/* Every rank gets to know every other one's wish. */
static int gather_wishes(struct comm *c, struct wish own, struct wish *all, struct err *e)
{
	const struct comm_request q = {.kind = COLL_ALL_REDUCE,
				       .send = all,
				       .recv = all,
				       .count = (size_t)c->size * 2,
				       .type = DT_INT32,
				       .op = OP_MAX};

	int result;

	for (int i = 0; i < c->size; i++)
		all[i] = (struct wish){INT32_MIN, INT32_MIN};
	all[c->rank] = own;
	result = comm_run(c, &q, e);
	all[c->rank] = own; /* whatever others made of it: this rank is in its own part */
	return result;
}

/* The members of our colour, in their new order. */
static void form(const struct comm *c, const struct wish *all, struct comm_group *g)
{
	for (int i = 0; i < c->size && g->colour != COMM_NO_COLOUR; i++) {
		int at = g->size;

		if (all[i].colour != g->colour)
			continue;
		for (; at && all[g->members[at - 1]].key > all[i].key; at--)
			g->members[at] = g->members[at - 1];
		g->members[at] = i;
		g->size++;
	}
	for (int i = 0; i < g->size; i++) {
		g->origin[i] = comm_origin(c, g->members[i]);
		g->rank = g->members[i] == c->rank ? i : g->rank;
	}
}

int comm_split(struct comm *c, int colour, int key, struct comm **ret, struct err *e)
{
	struct comm_group g = {.colour = colour < 0 ? COMM_NO_COLOUR : colour, .rank = -1};
	struct wish *all = calloc((size_t)c->size, sizeof(*all));
	int result = -1;

	*ret = NULL;
	if (!c->impl->split) {
		free(all);
		return err_set(e, ERR_ABSENT, "%s cannot be split", comm_caps(c)->backend);
	}
	g.members = calloc((size_t)c->size, sizeof(*g.members));
	g.origin = calloc((size_t)c->size, sizeof(*g.origin));
	if (!all || !g.members || !g.origin) {
		err_sys(e, "cannot split %d ranks", c->size);
	} else if (!gather_wishes(c, (struct wish){g.colour, key}, all, e)) {
		form(c, all, &g);
		result = c->impl->split(c, &g, ret, e);
	}
	if (!*ret)
		free(g.origin);
	free(g.members);
	free(all);
	return result;
}

int comm_register(struct comm *c, void *p, size_t n, struct err *e)
{
	return c->impl->add_memory ? c->impl->add_memory(c, p, n, e) : 0;
}

void comm_unregister(struct comm *c, void *p)
{
	if (p && c->impl->drop_memory)
		c->impl->drop_memory(c, p);
}

void comm_abort(struct comm *c, const char *reason) { c->impl->abort(c, reason); }
int comm_culprit(const struct comm *c, bool *ret_gone) { return c->impl->culprit(c, ret_gone); }

bool comm_wire(const struct comm *c, int peer, struct comm_wire *ret)
{
	return c->impl->wire && c->impl->wire(c, peer, ret);
}

bool comm_tally(const struct comm *c, struct comm_tally *ret)
{
	return c->impl->tally && c->impl->tally(c, ret);
}

void comm_free(struct comm *c)
{
	int *origin = c ? c->origin : NULL;

	if (c)
		c->impl->free(c);
	free(origin);
}
