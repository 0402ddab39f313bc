#ifndef TESTS_UNIT_PLUGIN_ROWS_H
#define TESTS_UNIT_PLUGIN_ROWS_H
/*
 * Every collective that a communicator has, with every type and reduction it
 * says it knows, at some sizes, in and out of place and with every root,
 * verified element by element in the device's memory. Of all combinations every
 * @thin-th is tried, a prime, so that each value of each meets most others.
 */
#include "bench/coll/coll.h"

#define ROW_SIZES                                                                                  \
	{                                                                                          \
		0, 4, 24, 1000, 40000, (1 << 20) + 72                                              \
	}
enum { ROWS_BYTES = (1 << 21) + 4096 };

struct rows {
	struct comm *comm;
	struct dev *dev;
	void *send, *recv;
	uint64_t seed;
	size_t done, seen, thin;
	char wrong[320];
};

static inline void rows_case(struct rows *r, struct coll_case *c, size_t bytes, bool in_place)
{
	const struct coll_buffers b = {.send = r->send, .recv = r->recv, .in_place = in_place};
	size_t count = (bytes + dtype_size(c->type) - 1) / dtype_size(c->type), bad = 0;
	struct comm_request q;
	struct err e = {0};

	c->seed = ++r->seed;
	c->coll->sizes(c->ranks,
		       c->coll->is_of_parts ? (count + (size_t)c->ranks - 1) / (size_t)c->ranks
					    : count,
		       &c->sizes);
	coll_fill(c, &b, r->dev);
	q = coll_request(c, &b);
	if (!r->dev->sync(r->dev, &e) && !comm_run(r->comm, &q, &e))
		bad = coll_wrong(c, &b, r->dev);
	r->done++;
	if (e.kind || bad)
		(void)snprintf(r->wrong, sizeof(r->wrong),
			       "%s %s %s, %zu bytes, root %d, %s place: %zu of %zu wrong %.150s",
			       c->coll->name, dtype_name(c->type), redop_name(c->op), coll_bytes(c),
			       c->root, in_place ? "in" : "out of", bad, c->sizes.recv, e.msg);
}

static inline void rows_sizes(struct rows *r, struct coll_case *c)
{
	static const size_t sizes[] = ROW_SIZES;
	bool in_place = !c->coll->exchanges || comm_caps(r->comm)->in_place_exchange;

	for (c->root = 0; c->root < (c->coll->rooted ? c->ranks : 1); c->root++)
		for (size_t i = 0; i < ARRAY_LEN(sizes) && !*r->wrong; i++)
			for (int place = 0; place <= in_place && !*r->wrong; place++)
				if (r->seen++ % r->thin == 0)
					rows_case(r, c, sizes[i], place);
	c->root = 0;
}

/* NULL, or what was wrong first. */
static inline const char *rows_run(struct rows *r)
{
	const struct comm_caps *caps = comm_caps(r->comm);
	struct coll_case c = {.rank = r->comm->rank, .ranks = r->comm->size};

	for (size_t i = 0; colls[i]; i++)
		for (c.type = 0; c.type < DT_COUNT && caps->kinds >> colls[i]->kind & 1; c.type++)
			for (c.op = 0; c.op < (colls[i]->reduces ? OP_COUNT : 1); c.op++) {
				c.coll = colls[i];
				if ((caps->types >> c.type & 1) && (caps->ops >> c.op & 1))
					rows_sizes(r, &c);
				if (*r->wrong)
					return r->wrong;
			}
	return NULL;
}

static inline const char *rows_with_memory(struct rows *r)
{
	struct err e = {0};
	const char *wrong = "no memory";

	if (!r->dev->alloc(r->dev, ROWS_BYTES, &r->send, &e) &&
	    !r->dev->alloc(r->dev, ROWS_BYTES, &r->recv, &e))
		wrong = rows_run(r);
	r->dev->free(r->dev, r->send);
	r->dev->free(r->dev, r->recv);
	return wrong;
}

#endif
