#include "bench/train/overlap.h"

#include "lib/core/units.h"

enum { BUCKET = 4096 }; /* floats: below, a message costs more than it hides */

void overlap_begin(struct overlap *o, size_t extra)
{
	o->open = o->net->nparams + extra;
	o->spent_ns = 0;
}

static int start(struct overlap *o, size_t from, struct err *e)
{
	float *g = (o->stream ? o->net->there->grads : o->net->grads) + from;
	const struct comm_request q = {.kind = COLL_ALL_REDUCE,
				       .send = g,
				       .recv = g,
				       .count = o->open - from,
				       .type = DT_FLOAT,
				       .op = OP_AVG};

	o->open = from;
	if (o->stream && o->net->engine->device->before(o->stream, e))
		return -1;
	return comm_start(o->comm, &q, e);
}

static int advance(struct overlap *o, int layer, struct err *e)
{
	uint64_t began = now_ns();
	size_t from = layer < 0 ? o->open : o->net->first[layer];
	bool finished;
	int result;

	if (layer >= 0 && (!layer || o->open - from >= BUCKET))
		result = start(o, from, e);
	else
		result = comm_test(o->comm, &finished, e);
	o->spent_ns += now_ns() - began;
	return result;
}

int overlap_layer(struct overlap *o, int layer, struct err *e)
{
	return o->late ? 0 : advance(o, layer, e);
}

int overlap_end(struct overlap *o, struct err *e)
{
	uint64_t began = now_ns();
	int result = 0;

	for (int i = o->net->nparts - 1; o->late && i >= 0 && !result; i--)
		result = advance(o, i, e);
	o->spent_ns = o->late ? 0 : o->spent_ns; /* it is in what follows */
	result = result ? result : comm_wait(o->comm, e);
	if (o->stream && !result)
		result = o->net->engine->device->after(o->stream, e);

	o->spent_ns += now_ns() - began;
	return result;
}
