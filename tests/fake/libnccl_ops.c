/* Of the stand-in for NCCL: collectives, and groups of sends and receives. */
#include "bench/comm/reduce.h"
#include "tests/fake/libnccl.h"

#include <dlfcn.h>

struct ncclComm *fake_at_work;

/* --- what goes on while somebody asks ---------------------------------------------------- */

static enum dtype type_of(ncclDataType_t t)
{
	static const enum dtype types[] = {
		[ncclInt8] = DT_INT8,	      [ncclUint8] = DT_UINT8,	[ncclInt32] = DT_INT32,
		[ncclUint32] = DT_UINT32,     [ncclInt64] = DT_INT64,	[ncclUint64] = DT_UINT64,
		[ncclFloat16] = DT_HALF,      [ncclFloat32] = DT_FLOAT, [ncclFloat64] = DT_DOUBLE,
		[ncclBfloat16] = DT_BFLOAT16, [10] = DT_F8E4M3,		[11] = DT_F8E5M2};

	return types[t];
}

static enum redop op_of(ncclRedOp_t op)
{
	return op == ncclProd  ? OP_PROD
	       : op == ncclMax ? OP_MAX
	       : op == ncclMin ? OP_MIN
	       : op == ncclAvg ? OP_AVG
	       : op == ncclSum ? OP_SUM
			       : OP_MULSUM;
}

/* What was put on the stream before us is done before us. */
static void follow(void *stream)
{
	int (*query)(void *) = NULL;

	*(void **)&query = dlsym(RTLD_DEFAULT, "cuStreamQuery");
	if (query)
		(void)query(stream);
}

static size_t bytes_of(const struct fake_op *o) { return o->count * dtype_size(o->type); }

struct parcel {
	size_t to, n;
};

static void connect_late(const struct ncclComm *c)
{
	static bool is_done;
	const char *path = getenv("NCCL_DEBUG_FILE");
	FILE *f = path && !is_done && fake_mode("late-sockets") ? fopen(path, "a") : NULL;

	if (!f)
		return;
	is_done = true;
	fprintf(f, "vm:1:1 [0] NCCL INFO Channel 00/1 : %d[0] -> %d[0] [send] via NET/Socket/0\n",
		c->rank, (c->rank + 1) % c->size);
	(void)fclose(f);
}

/* A slot is a row of (to, bytes, data). */
static ncclResult_t publish_parcels(struct ncclComm *c)
{
	const struct parcel end = {SIZE_MAX, 0};
	char *slot = c->shared->slots[c->rank];

	connect_late(c);
	for (int i = 0; i < c->op.nparcels; i++) {
		const struct fake_parcel *x = &c->op.parcels[i];
		struct parcel p = {(size_t)x->peer, x->n};

		if (!x->from)
			continue;
		if (slot + p.n + 2 * sizeof(p) > c->shared->slots[c->rank] + SLOT)
			return ncclInternalError;
		memcpy(slot, &p, sizeof(p));
		memcpy(slot + sizeof(p), x->from, p.n);
		slot += sizeof(p) + p.n;
	}
	memcpy(slot, &end, sizeof(end));
	return ncclSuccess;
}

static bool receive(const char *slot, size_t me, void *to, size_t n)
{
	struct parcel p;

	for (size_t at = 0;; at += sizeof(p) + p.n) {
		memcpy(&p, slot + at, sizeof(p));
		if (p.to == SIZE_MAX)
			return false;
		if (p.to != me)
			continue;
		if (p.n == n)
			memcpy(to, slot + at + sizeof(p), n);
		return p.n == n;
	}
}

static ncclResult_t take_parcels(struct ncclComm *c)
{
	bool ok = true;

	for (int i = 0; i < c->op.nparcels; i++) {
		const struct fake_parcel *x = &c->op.parcels[i];

		ok &= x->from || receive(c->shared->slots[x->peer], (size_t)c->rank, x->to, x->n);
	}
	return ok ? ncclSuccess : ncclInvalidArgument;
}

static void multiply(struct ncclComm *c, size_t n)
{
	const struct fake_op *o = &c->op;
	char *slot = c->shared->slots[c->rank];
	size_t size = dtype_size(o->type);

	for (size_t at = 0; at < n && o->op == OP_MULSUM; at += size)
		reduce_find(o->type, OP_PROD)(slot + at, slot + at,
					      &c->made[o->made - ncclNumOps].times, 1);
}

static ncclResult_t publish(struct ncclComm *c)
{
	const struct fake_op *o = &c->op;
	size_t n = bytes_of(o) * (o->kind == FAKE_REDUCE_SCATTER ? (size_t)c->size : 1);

	if (o->kind == FAKE_JOIN || o->kind == FAKE_WINDOW)
		return ncclSuccess;
	if (!c->on_stream)
		follow(o->stream);
	if (o->kind == FAKE_PARCELS)
		return publish_parcels(c);
	if (!fake_carry(c, o->send, n))
		return ncclRemoteError;
	if (n > SLOT)
		return ncclInternalError;
	if (o->kind != FAKE_BROADCAST || c->rank == o->root)
		memcpy(c->shared->slots[c->rank], o->send, n);
	multiply(c, n);
	return ncclSuccess;
}

static void reduce_at(struct ncclComm *c, size_t from)
{
	const struct fake_op *o = &c->op;

	memcpy(o->recv, c->shared->slots[0] + from, bytes_of(o));
	for (int r = 1; r < c->size; r++)
		reduce_find(o->type, o->op)(o->recv, o->recv, c->shared->slots[r] + from, o->count);
	if (o->op == OP_AVG)
		reduce_divide(o->type, o->recv, o->count, (unsigned)c->size);
}

static void spoil(struct ncclComm *c)
{
	const struct fake_op *o = &c->op;
	bool is_wrong = fake_mode("wrong-sum") || (fake_mode("wrong-replay") && c->on_stream);

	if (is_wrong && c->rank == 1 && o->count > 100)
		((char *)o->recv)[bytes_of(o) / 2] ^= 0x40;
	for (size_t i = 0; i < o->count && o->type == DT_FLOAT && fake_mode("any-order"); i++)
		((uint32_t *)o->recv)[i] ^= (unsigned)(c->operations + 1) * 2654435761U >> 31;
}

static ncclResult_t take(struct ncclComm *c)
{
	const struct fake_op *o = &c->op;
	size_t n = bytes_of(o);

	switch (o->kind) {
	case FAKE_WINDOW:
		*o->window_to = o->window;
		return ncclSuccess;
	case FAKE_ALL_REDUCE:
		reduce_at(c, 0);
		spoil(c);
		return ncclSuccess;
	case FAKE_REDUCE:
		if (c->rank == o->root)
			reduce_at(c, 0);
		return ncclSuccess;
	case FAKE_REDUCE_SCATTER:
		reduce_at(c, n * (size_t)c->rank);
		return ncclSuccess;
	case FAKE_BROADCAST:
		memcpy(o->recv, c->shared->slots[o->root], n);
		return ncclSuccess;
	case FAKE_ALL_GATHER:
		for (int r = 0; r < c->size; r++)
			memmove((char *)o->recv + n * (size_t)r, c->shared->slots[r], n);
		return ncclSuccess;
	case FAKE_PARCELS:
		return take_parcels(c);
	default:
		return ncclSuccess;
	}
}

/* The real one (2.24 to 2.30) has no kernel by which one rank averages or multiplies these. An
 * operation that was made is of one type. */
static bool is_lacking(const struct ncclComm *c, const struct fake_op *op)
{
	unsigned made = (unsigned)op->made - ncclNumOps;

	if (op->op == OP_MULSUM &&
	    (made >= MADE || !c->made[made].is_there || c->made[made].type != op->type))
		return true;
	return c->size == 1 && op->op >= OP_AVG && (op->type == DT_F8E4M3 || op->type == DT_F8E5M2);
}

/* All of a group. */
static ncclResult_t put_on_stream(struct ncclComm *c, const struct fake_op *op)
{
	int more = c->nlater;
	ncclResult_t r;

	c->nlater = 0; /* the first may be done before the second is there */
	r = fake_onto_stream(c, op);
	for (int i = 0; i < more && r == ncclSuccess; i++)
		r = fake_onto_stream(c, &c->later[i]);
	return r;
}

ncclResult_t fake_begin(struct ncclComm *c, const struct fake_op *op, const char *what)
{
	if (!fake_is_ready(c, what) || is_lacking(c, op))
		return ncclInvalidArgument;
	if (c->operations >= 3)
		fake_hang("call-hang", c);
	if (c->blocks && op->kind > FAKE_WINDOW)
		return put_on_stream(c, op);
	c->op = *op;
	c->op.is_captured = op->stream && fake_is_captured(op->stream);
	for (int i = 0; i < c->nlater; i++)
		c->later[i].is_captured = c->op.is_captured;
	if (c->op.is_captured && fake_mode("no-graphs"))
		return c->failed = ncclInvalidUsage;
	return ncclInProgress;
}

static void end_op(struct ncclComm *c)
{
	if (c->op.kind == FAKE_JOIN)
		(void)unlink(c->path);
	c->operations += c->op.kind > FAKE_WINDOW;
	c->op = c->nlater ? c->later[0] : (struct fake_op){0};
	if (c->nlater)
		memmove(c->later, c->later + 1, (size_t)--c->nlater * sizeof(*c->later));
}

static void arrive(struct ncclComm *c)
{
	c->op.target = ++c->round * (unsigned)c->size;
	c->op.phase++;
	__atomic_add_fetch(&c->shared->arrived, 1, __ATOMIC_ACQ_REL);
}

static bool have_arrived(const struct ncclComm *c)
{
	return __atomic_load_n(&c->shared->arrived, __ATOMIC_ACQUIRE) >= c->op.target;
}

/* One step: the one who asks is told to come again, at least twice. */
void fake_go_on(struct ncclComm *c)
{
	if (c->op.kind == FAKE_NOTHING || c->failed)
		return;
	if (c->op.is_captured) { /* it takes a moment to get there */
		if (c->op.phase++) {
			c->failed = fake_onto_stream(c, &c->op);
			end_op(c);
		}
		return;
	}
	if (c->op.kind > FAKE_WINDOW)
		fake_at_work = c;
	if (fake_mode("late-hang") && c->op.kind > FAKE_WINDOW && c->operations >= 3)
		return;
	if (!c->op.phase) {
		c->failed = publish(c);
		arrive(c);
	} else if (!have_arrived(c)) {
		(void)usleep(20);
	} else if (c->op.phase == 1) {
		c->failed = take(c);
		arrive(c);
	} else {
		end_op(c);
	}
}

/* --- groups: operations that are begun when the outermost one ends -------------------------- */

static struct {
	ncclComm_t comm;
	struct fake_op ops[GROUPED + 1], parcels;
	ncclResult_t failed;
	int depth, n;
} group;

static ncclResult_t add(ncclComm_t c, const struct fake_op *op, const char *what)
{
	if (group.n > GROUPED || (group.comm && group.comm != c) || !fake_is_ready(c, what) ||
	    is_lacking(c, op))
		return group.failed = ncclInvalidArgument;
	group.comm = c;
	group.ops[group.n++] = *op;
	return ncclSuccess;
}

ncclResult_t ncclGroupStart(void)
{
	if (!group.depth)
		memset(&group, 0, sizeof(group));
	memset(&group.parcels, 0, sizeof(group.parcels));
	group.depth++;
	return ncclSuccess;
}

/* Sends and receives within are one operation. */
static ncclResult_t add_parcel(ncclComm_t c, const struct fake_parcel *p, void *stream,
			       const char *what)
{
	if (!group.depth || group.parcels.nparcels == 2 * RANKS ||
	    (group.comm && group.comm != c) || !fake_is_ready(c, what))
		return group.failed = ncclInvalidArgument;
	group.comm = c;
	group.parcels.kind = FAKE_PARCELS;
	group.parcels.stream = stream;
	group.parcels.parcels[group.parcels.nparcels++] = *p;
	return ncclSuccess;
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t c,
		      cudaStream_t s)
{
	return add_parcel(
		c, &(struct fake_parcel){send, NULL, count * dtype_size(type_of(type)), peer}, s,
		__func__);
}

ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t c,
		      cudaStream_t s)
{
	return add_parcel(
		c, &(struct fake_parcel){NULL, recv, count * dtype_size(type_of(type)), peer}, s,
		__func__);
}

ncclResult_t ncclGroupEnd(void)
{
	ncclComm_t c = group.comm;

	group.depth--;
	if (!group.failed && group.parcels.nparcels)
		(void)add(c, &group.parcels, __func__);
	memset(&group.parcels, 0, sizeof(group.parcels));
	if (group.failed || group.depth)
		return group.failed;
	if (!group.n) /* a rank with nothing to do: all ranks of these tests have something */
		return ncclInternalError;
	if (fake_mode("tells"))
		(void)fprintf(stderr, "stand-in for NCCL: a group of %d\n", group.n);
	c->nlater = group.n - 1;
	memcpy(c->later, group.ops + 1, (size_t)c->nlater * sizeof(*c->later));
	return fake_begin(c, &group.ops[0], __func__);
}

/* --- operations that are made ------------------------------------------------------------------
 */

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *ret, void *scalar, ncclDataType_t type,
				      ncclScalarResidence_t where, ncclComm_t c)
{
	struct fake_made made = {.is_there = true, .type = type_of(type)};

	if (where != ncclScalarHostImmediate || !fake_is_ready(c, __func__))
		return ncclInvalidArgument;
	memcpy(&made.times, scalar, dtype_size(made.type));
	for (int i = 0; i < MADE; i++)
		if (!c->made[i].is_there) {
			c->made[i] = made;
			*ret = (ncclRedOp_t)((int)ncclNumOps + i);
			return ncclSuccess;
		}
	return ncclInternalError;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t c)
{
	unsigned i = (unsigned)op - ncclNumOps;

	fake_is_outside(__func__);
	if (i >= MADE || !c->made[i].is_there)
		return ncclInvalidArgument;
	c->made[i].is_there = false;
	return ncclSuccess;
}

/* --- collectives --------------------------------------------------------------------------- */

#define BEGIN(what, ...)                                                                           \
	(group.depth ? add : fake_begin)(c,                                                        \
					 &(struct fake_op){.kind = (what),                         \
							   .send = send,                           \
							   .recv = recv,                           \
							   .count = count,                         \
							   .type = type_of(type),                  \
							   .stream = s,                            \
							   __VA_ARGS__},                           \
					 __func__)

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
			   ncclRedOp_t op, ncclComm_t c, cudaStream_t s)
{
	return BEGIN(FAKE_ALL_REDUCE, .op = op_of(op), .made = op);
}

ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
			ncclRedOp_t op, int root, ncclComm_t c, cudaStream_t s)
{
	return BEGIN(FAKE_REDUCE, .op = op_of(op), .made = op, .root = root);
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type,
			       ncclRedOp_t op, ncclComm_t c, cudaStream_t s)
{
	return BEGIN(FAKE_REDUCE_SCATTER, .op = op_of(op), .made = op);
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type,
			   int root, ncclComm_t c, cudaStream_t s)
{
	return BEGIN(FAKE_BROADCAST, .root = root);
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type,
			   ncclComm_t c, cudaStream_t s)
{
	return BEGIN(FAKE_ALL_GATHER, .root = 0);
}
