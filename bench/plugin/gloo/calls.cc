/* The calls into Gloo: one function per collective that it has. */
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/scatter.h>
#include <gloo/types.h>

#include <cstring>
#include <stdexcept>

#include "bench/plugin/gloo/calls.h"
extern "C" {
#include "bench/comm/reduce.h"
}

namespace
{

using Func = void(void *, const void *, const void *, size_t);

/* What Gloo cannot reduce by itself is reduced by this program. */
template <typename T> Func *own(enum redop op)
{
	switch (op) {
	case OP_PROD:
		return gloo::product<T>;
	case OP_MAX:
		return gloo::max<T>;
	case OP_MIN:
		return gloo::min<T>;
	default:
		return gloo::sum<T>;
	}
}

Func *reduction(enum dtype type, enum redop op)
{
	/* sums and products wrap around, which is defined for numbers without a sign alone */
	const bool wraps = op != OP_MAX && op != OP_MIN;

	switch (type) {
	case DT_INT8:
		return own<int8_t>(op);
	case DT_UINT8:
		return own<uint8_t>(op);
	case DT_INT32:
		return wraps ? own<uint32_t>(op) : own<int32_t>(op);
	case DT_INT64:
		return wraps ? own<uint64_t>(op) : own<int64_t>(op);
	case DT_UINT64:
		return own<uint64_t>(op);
	case DT_HALF:
		return own<gloo::float16>(op);
	case DT_FLOAT:
		return own<float>(op);
	case DT_DOUBLE:
		return own<double>(op);
	default:
		return reduce_find(type, op);
	}
}

struct Call {
	gloo_ops &g;
	const comm_request &q;
	size_t bytes; /* of @count elements */
	int rank, size;

	char *send() const { return static_cast<char *>(const_cast<void *>(q.send)); }
	char *recv() const { return static_cast<char *>(q.recv); }
	bool is_root() const { return rank == q.root; }
	uint32_t tag() const { return ++g.tag & 0xffffff; }
	/* Gloo wants somewhere to put what this rank does not keep. */
	char *room(char *given, size_t n) const
	{
		if (given)
			return given;
		if (g.scratch.size() < n)
			g.scratch.resize(n);
		return g.scratch.data();
	}
};

/* Options measure in elements; reductions need the real size of one. */
template <typename T> void all_reduce(const Call &c)
{
	gloo::AllreduceOptions o(c.g.context);

	if (c.send() != c.recv())
		o.setInput(reinterpret_cast<T *>(c.send()), c.q.count);
	o.setOutput(reinterpret_cast<T *>(c.recv()), c.q.count);
	o.setReduceFunction(reduction(c.q.type, c.q.op));
	o.setTag(c.tag());
	gloo::allreduce(o);
}

template <typename T> void reduce(const Call &c)
{
	gloo::ReduceOptions o(c.g.context);
	char *to = c.room(c.recv(), c.bytes);

	if (c.send() != to)
		o.setInput(reinterpret_cast<T *>(c.send()), c.q.count);
	o.setOutput(reinterpret_cast<T *>(to), c.q.count);
	o.setReduceFunction(reduction(c.q.type, c.q.op));
	o.setRoot(c.q.root);
	o.setTag(c.tag());
	gloo::reduce(o);
}

void by_size(const Call &c, void (*one)(const Call &), void (*two)(const Call &),
	     void (*four)(const Call &), void (*eight)(const Call &))
{
	switch (c.bytes / c.q.count) {
	case 1:
		return one(c);
	case 2:
		return two(c);
	case 4:
		return four(c);
	default:
		return eight(c);
	}
}

void broadcast(const Call &c)
{
	gloo::BroadcastOptions o(c.g.context);

	if (c.is_root() && c.send() != c.recv())
		o.setInput(c.send(), c.bytes);
	o.setOutput(c.recv(), c.bytes);
	o.setRoot(c.q.root);
	o.setTag(c.tag());
	gloo::broadcast(o);
}

void all_gather(const Call &c)
{
	gloo::AllgatherOptions o(c.g.context);

	if (c.send() != c.recv() + c.bytes * static_cast<size_t>(c.rank))
		o.setInput(c.send(), c.bytes);
	o.setOutput(c.recv(), c.bytes * static_cast<size_t>(c.size));
	o.setTag(c.tag());
	gloo::allgather(o);
}

void gather(const Call &c)
{
	gloo::GatherOptions o(c.g.context);

	o.setInput(c.send(), c.bytes);
	if (c.is_root())
		o.setOutput(c.recv(), c.bytes * static_cast<size_t>(c.size));
	o.setRoot(c.q.root);
	o.setTag(c.tag());
	gloo::gather(o);
}

void scatter(const Call &c)
{
	gloo::ScatterOptions o(c.g.context);
	std::vector<char *> parts;

	for (int i = 0; i < c.size && c.is_root(); i++)
		parts.push_back(c.send() + c.bytes * static_cast<size_t>(i));
	if (c.is_root())
		o.setInputs(parts, c.bytes);
	o.setOutput(c.recv(), c.bytes);
	o.setRoot(c.q.root);
	o.setTag(c.tag());
	gloo::scatter(o);
}

void all_to_all(const Call &c)
{
	gloo::AlltoallOptions o(c.g.context);

	o.setInput(c.send(), c.bytes * static_cast<size_t>(c.size));
	o.setOutput(c.recv(), c.bytes * static_cast<size_t>(c.size));
	o.setTag(c.tag());
	gloo::alltoall(o);
}

void all_to_all_v(const Call &c)
{
	gloo::AlltoallvOptions o(c.g.context);
	std::vector<int64_t> out(c.size), in(c.size);

	for (int i = 0; i < c.size; i++) {
		out[i] = static_cast<int64_t>(c.q.send_counts[i] * dtype_size(c.q.type));
		in[i] = static_cast<int64_t>(c.q.recv_counts[i] * dtype_size(c.q.type));
	}
	o.setInput(c.send(), out);
	o.setOutput(c.recv(), in);
	o.setTag(c.tag());
	gloo::alltoallv(o);
}

void send_recv(const Call &c)
{
	int next = (c.rank + 1) % c.size, before = (c.rank + c.size - 1) % c.size;
	uint64_t slot = (UINT64_C(0x57) << 56) | c.tag();
	auto out = c.g.context->createUnboundBuffer(c.send(), c.bytes);
	auto in = c.g.context->createUnboundBuffer(c.recv(), c.bytes);

	if (c.size == 1) {
		std::memmove(c.recv(), c.send(), c.bytes);
		return;
	}
	in->recv(before, slot);
	out->send(next, slot);
	if (!out->waitSend(c.g.context->getTimeout()) || !in->waitRecv(c.g.context->getTimeout()))
		throw std::runtime_error("a transfer was aborted");
}

void barrier(const Call &c)
{
	gloo::BarrierOptions o(c.g.context);

	o.setTag(c.tag());
	gloo::barrier(o);
}

void call(const Call &c)
{
	switch (c.q.kind) {
	case COLL_BARRIER:
		return barrier(c);
	case COLL_ALLTOALLV:
		return all_to_all_v(c);
	default:
		if (!c.q.count) /* Gloo refuses nothing */
			return;
	}
	switch (c.q.kind) {
	case COLL_ALL_REDUCE:
		return by_size(c, all_reduce<uint8_t>, all_reduce<uint16_t>, all_reduce<uint32_t>,
			       all_reduce<uint64_t>);
	case COLL_REDUCE:
		return by_size(c, reduce<uint8_t>, reduce<uint16_t>, reduce<uint32_t>,
			       reduce<uint64_t>);
	case COLL_ALL_GATHER:
		return all_gather(c);
	case COLL_BROADCAST:
		return broadcast(c);
	case COLL_GATHER:
		return gather(c);
	case COLL_SCATTER:
		return scatter(c);
	case COLL_ALLTOALL:
		return all_to_all(c);
	default:
		return send_recv(c);
	}
}

/* Gloo has no average: a sum, divided. */
void divide(const Call &c)
{
	bool is_mine = c.q.kind == COLL_ALL_REDUCE || (c.q.kind == COLL_REDUCE && c.is_root());

	if (c.q.op == OP_AVG && is_mine)
		reduce_divide(c.q.type, c.recv(), c.q.count, static_cast<unsigned>(c.size));
}

} // namespace

void gloo_call(gloo_ops &g, const comm_request &q)
{
	const Call c = {g, q, q.count * dtype_size(q.type), g.context->rank, g.context->size};

	call(c);
	divide(c);
}
