#include "bench/plugin/nccl/nccl.h"
#include "bench/plugin/nccl/newer.h"

static ncclDataType_t type_of(enum dtype t)
{
	static const ncclDataType_t types[DT_COUNT] = {
		[DT_INT8] = ncclInt8,
		[DT_UINT8] = ncclUint8,
		[DT_INT32] = ncclInt32,
		[DT_UINT32] = ncclUint32,
		[DT_INT64] = ncclInt64,
		[DT_UINT64] = ncclUint64,
		[DT_HALF] = ncclFloat16,
		[DT_FLOAT] = ncclFloat32,
		[DT_DOUBLE] = ncclFloat64,
		/* ncclBfloat16, which headers before 2.24 have for nvcc alone */
		[DT_BFLOAT16] = (ncclDataType_t)9,
		/* ncclFloat8e4m3 and ncclFloat8e5m2, which those have not */
		[DT_F8E4M3] = (ncclDataType_t)10,
		[DT_F8E5M2] = (ncclDataType_t)11,
	};

	return types[t];
}

/* Made when a type is first added up so: the number is of that type. */
static ncclResult_t mulsum(struct nccl_comm *c, enum dtype t, ncclRedOp_t *ret)
{
	uint64_t times;
	ncclResult_t r = ncclSuccess;

	if (!(c->has_mulsums >> t & 1)) {
		dtype_put(t, &times, 0, redop_times(OP_MULSUM, c->comm.rank));
		r = ncclRedOpCreatePreMulSum(&c->mulsums[t], &times, type_of(t),
					     ncclScalarHostImmediate, c->handle);
	}
	if (r == ncclSuccess)
		c->has_mulsums |= 1u << t;
	*ret = c->mulsums[t];
	return r;
}

void nccl_calls_done(struct nccl_comm *c)
{
	for (enum dtype t = 0; t < DT_COUNT; t++)
		if (c->has_mulsums >> t & 1)
			(void)ncclRedOpDestroy(c->mulsums[t], c->handle);
	c->has_mulsums = 0;
}

/*
 * One rank's average, and what rank 0 puts into a mulsum, is what it has; of floats of 8 bits
 * NCCL refuses both (up to 2.30, it has no kernel for it).
 */
static ncclResult_t op_of(struct nccl_comm *c, const struct comm_request *q, ncclRedOp_t *ret)
{
	static const ncclRedOp_t ops[OP_MULSUM] = {[OP_SUM] = ncclSum,
						   [OP_PROD] = ncclProd,
						   [OP_MAX] = ncclMax,
						   [OP_MIN] = ncclMin,
						   [OP_AVG] = ncclAvg};
	bool is_alone = c->comm.size == 1 && q->op >= OP_AVG;

	if (q->op == OP_MULSUM && !is_alone)
		return mulsum(c, q->type, ret);
	*ret = is_alone ? ncclSum : ops[q->op];
	return ncclSuccess;
}

struct exchange { /* what passes between this rank and another one, in elements */
	size_t out_at, out, in_at, in;
};

static void exchange_with(const struct nccl_comm *c, const struct comm_request *q, int peer,
			  struct exchange *x)
{
	int me = c->comm.rank, n = c->comm.size;
	bool root = me == q->root;

	*x = (struct exchange){0};
	switch (q->kind) {
	case COLL_ALLTOALL:
		*x = (struct exchange){(size_t)peer * q->count, q->count, (size_t)peer * q->count,
				       q->count};
		break;
	case COLL_ALLTOALLV:
		for (int p = 0; p < peer; p++) {
			x->out_at += q->send_counts[p];
			x->in_at += q->recv_counts[p];
		}
		x->out = q->send_counts[peer];
		x->in = q->recv_counts[peer];
		break;
	case COLL_GATHER:
		x->out = peer == q->root ? q->count : 0;
		x->in = root ? q->count : 0;
		x->in_at = (size_t)peer * q->count;
		break;
	case COLL_SCATTER:
		x->in = peer == q->root ? q->count : 0;
		x->out = root ? q->count : 0;
		x->out_at = (size_t)peer * q->count;
		break;
	default: /* sendrecv */
		x->out = peer == (me + 1) % n ? q->count : 0;
		x->in = peer == (me + n - 1) % n ? q->count : 0;
	}
}

static ncclResult_t exchange_all(struct nccl_comm *c, const struct comm_request *q)
{
	size_t size = dtype_size(q->type);
	ncclResult_t r = ncclGroupStart(), end;

	for (int p = 0; p < c->comm.size && r == ncclSuccess; p++) {
		struct exchange x;

		exchange_with(c, q, p, &x);
		if (x.out)
			r = ncclSend((const char *)q->send + x.out_at * size, x.out * size,
				     ncclInt8, p, c->handle, c->gpu->stream);
		if (x.in && (r == ncclSuccess || r == ncclInProgress))
			r = ncclRecv((char *)q->recv + x.in_at * size, x.in * size, ncclInt8, p,
				     c->handle, c->gpu->stream);
		r = r == ncclInProgress ? ncclSuccess : r;
	}
	end = ncclGroupEnd();
	return r == ncclSuccess ? end : r;
}

/* NCCL's own, or of the same effect. */
static ncclResult_t exchange(struct nccl_comm *c, const struct comm_request *q)
{
	const struct newer_exchange x = {.send = q->send,
					 .recv = q->recv,
					 .count = q->count,
					 .type = type_of(q->type),
					 .root = q->root,
					 .comm = c->handle,
					 .stream = c->gpu->stream};
	bool is_own = q->kind == COLL_ALLTOALL || q->kind == COLL_GATHER || q->kind == COLL_SCATTER;

	return is_own && c->root->own_calls ? newer_exchange(q->kind, &x) : exchange_all(c, q);
}

static ncclResult_t reduce(struct nccl_comm *c, const struct comm_request *q)
{
	ncclDataType_t t = type_of(q->type);
	CUstream s = c->gpu->stream;
	ncclRedOp_t op;
	ncclResult_t r = op_of(c, q, &op);

	if (r != ncclSuccess)
		return r;
	if (q->kind == COLL_ALL_REDUCE)
		return ncclAllReduce(q->send, q->recv, q->count, t, op, c->handle, s);
	if (q->kind == COLL_REDUCE)
		return ncclReduce(q->send, q->recv, q->count, t, op, q->root, c->handle, s);
	return ncclReduceScatter(q->send, q->recv, q->count, t, op, c->handle, s);
}

ncclResult_t nccl_call(struct nccl_comm *c, const struct comm_request *q)
{
	ncclDataType_t t = type_of(q->type);
	CUstream s = c->gpu->stream;

	switch (q->kind) {
	case COLL_ALL_REDUCE:
	case COLL_REDUCE:
	case COLL_REDUCE_SCATTER:
		return reduce(c, q);
	case COLL_ALL_GATHER:
		return ncclAllGather(q->send, q->recv, q->count, t, c->handle, s);
	case COLL_BROADCAST:
		return ncclBroadcast(q->send, q->recv, q->count, t, q->root, c->handle, s);
	default:
		return exchange(c, q);
	}
}
