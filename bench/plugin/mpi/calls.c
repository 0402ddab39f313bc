#include "bench/plugin/mpi/calls.h"

#include "bench/comm/reduce.h"

#include <limits.h>

static MPI_Datatype type_of(enum dtype t)
{
	switch (t) {
	case DT_INT8:
		return MPI_INT8_T;
	case DT_UINT8:
		return MPI_UINT8_T;
	case DT_INT32:
		return MPI_INT32_T;
	case DT_UINT32:
		return MPI_UINT32_T;
	case DT_INT64:
		return MPI_INT64_T;
	case DT_UINT64:
		return MPI_UINT64_T;
	case DT_FLOAT:
		return MPI_FLOAT;
	case DT_DOUBLE:
		return MPI_DOUBLE;
	default:
		return MPI_UINT16_T; /* the bits of half and bfloat16 */
	}
}

/* The function that MPI calls back says nothing of who it is for: one for each. */
#define REDUCTION(name, type, op)                                                                  \
	static void name(void *in, void *inout, int *n, MPI_Datatype *t)                           \
	{                                                                                          \
		(void)t;                                                                           \
		reduce_find(type, op)(inout, in, inout, (size_t)*n);                               \
	}
REDUCTION(sum_half, DT_HALF, OP_SUM)
REDUCTION(prod_half, DT_HALF, OP_PROD)
REDUCTION(max_half, DT_HALF, OP_MAX)
REDUCTION(min_half, DT_HALF, OP_MIN)
REDUCTION(sum_bf16, DT_BFLOAT16, OP_SUM)
REDUCTION(prod_bf16, DT_BFLOAT16, OP_PROD)
REDUCTION(max_bf16, DT_BFLOAT16, OP_MAX)
REDUCTION(min_bf16, DT_BFLOAT16, OP_MIN)
REDUCTION(sum_8, DT_UINT8, OP_SUM)

static int settle(struct mpi_calls *m)
{
	(void)MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
	(void)MPI_Comm_rank(m->comm, &m->rank);
	(void)MPI_Comm_size(m->comm, &m->size);
	m->counts = calloc((size_t)m->size * 4, sizeof(*m->counts));
	return m->counts ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int mpi_calls_init(struct mpi_calls *m, MPI_Comm world, int rank)
{
	static MPI_User_function *const fns[2][OP_AVG] = {
		{[OP_SUM] = sum_half,
		 [OP_PROD] = prod_half,
		 [OP_MAX] = max_half,
		 [OP_MIN] = min_half},
		{[OP_SUM] = sum_bf16,
		 [OP_PROD] = prod_bf16,
		 [OP_MAX] = max_bf16,
		 [OP_MIN] = min_bf16},
	};
	int error = MPI_Comm_split(world, 0, rank, &m->comm); /* in our order of ranks */

	for (size_t i = 0; i < ARRAY_LEN(fns) && !error; i++)
		for (size_t op = 0; op < OP_AVG && !error; op++)
			error = MPI_Op_create(fns[i][op], 1, &m->ops[i][op]);
	if (!error)
		error = MPI_Op_create(sum_8, 1, &m->sum_8);
	return error ? error : settle(m);
}

int mpi_calls_part(const struct mpi_calls *from, int colour, int key, struct mpi_calls *ret)
{
	MPI_Comm comm;
	int error = MPI_Comm_split(from->comm, colour, key, &comm);

	if (error || comm == MPI_COMM_NULL)
		return error;
	*ret = *from;
	ret->comm = comm;
	ret->scratch = NULL;
	ret->nscratch = 0;
	return settle(ret);
}

void mpi_calls_done(struct mpi_calls *m)
{
	free(m->counts);
	free(m->scratch);
}

static MPI_Op op_of(const struct mpi_calls *m, const struct comm_request *q)
{
	static const int sums[] = {OP_SUM, OP_PROD, OP_MAX, OP_MIN, OP_SUM};
	int op = sums[q->op];

	if (q->type == DT_HALF || q->type == DT_BFLOAT16)
		return m->ops[q->type == DT_BFLOAT16][op];
	/* Open MPI 4.1's vector code saturates here, as MPI allows; everybody else wraps around */
	if (op == OP_SUM && dtype_size(q->type) == 1)
		return m->sum_8;
	return op == OP_SUM ? MPI_SUM : op == OP_PROD ? MPI_PROD : op == OP_MAX ? MPI_MAX : MPI_MIN;
}

const char *mpi_call_limit(const struct comm_request *q)
{
	return q->count > INT_MAX ? "MPI counts elements in an int, which ends at 2147483647"
				  : NULL;
}

static size_t bytes_of(const struct comm_request *q) { return q->count * dtype_size(q->type); }
static void *part(const void *p, size_t bytes, int rank)
{
	return (char *)(uintptr_t)p + bytes * (size_t)rank;
}

static int all_reduce(struct mpi_calls *m, const struct comm_request *q)
{
	return MPI_Allreduce(q->send == q->recv ? MPI_IN_PLACE : q->send, q->recv, (int)q->count,
			     type_of(q->type), op_of(m, q), m->comm);
}

static bool make_room(struct mpi_calls *m, size_t n)
{
	if (m->nscratch >= n)
		return true;
	free(m->scratch);
	m->scratch = malloc(n);
	m->nscratch = m->scratch ? n : 0;
	return m->scratch;
}

/* MPICH 4.0 crashes on large reductions in place at a root that is not rank 0. */
static int reduce(struct mpi_calls *m, const struct comm_request *q)
{
	const void *send = q->send;

	if (m->rank == q->root && send == q->recv && q->root) {
		if (!make_room(m, bytes_of(q)))
			return MPI_ERR_NO_MEM;
		send = memcpy(m->scratch, send, bytes_of(q));
	} else if (m->rank == q->root && send == q->recv) {
		send = MPI_IN_PLACE;
	}
	return MPI_Reduce(send, q->recv, (int)q->count, type_of(q->type), op_of(m, q), q->root,
			  m->comm);
}

/* In place, MPI leaves the result at the beginning and not where the part was. */
static int reduce_scatter(struct mpi_calls *m, const struct comm_request *q)
{
	int n = (int)q->count, error;

	if (q->recv != part(q->send, bytes_of(q), m->rank))
		return MPI_Reduce_scatter_block(q->send, q->recv, n, type_of(q->type), op_of(m, q),
						m->comm);
	error = MPI_Reduce_scatter_block(MPI_IN_PLACE, (void *)(uintptr_t)q->send, n,
					 type_of(q->type), op_of(m, q), m->comm);
	memmove(q->recv, q->send, bytes_of(q));
	return error;
}

static int broadcast(struct mpi_calls *m, const struct comm_request *q)
{
	if (m->rank == q->root && q->send != q->recv)
		memcpy(q->recv, q->send, bytes_of(q));
	return MPI_Bcast(q->recv, (int)q->count, type_of(q->type), q->root, m->comm);
}

static int all_gather(struct mpi_calls *m, const struct comm_request *q)
{
	bool in_place = q->send == part(q->recv, bytes_of(q), m->rank);

	return MPI_Allgather(in_place ? MPI_IN_PLACE : q->send, (int)q->count, type_of(q->type),
			     q->recv, (int)q->count, type_of(q->type), m->comm);
}

static int gather(struct mpi_calls *m, const struct comm_request *q)
{
	bool in_place = m->rank == q->root && q->send == part(q->recv, bytes_of(q), m->rank);

	return MPI_Gather(in_place ? MPI_IN_PLACE : q->send, (int)q->count, type_of(q->type),
			  q->recv, (int)q->count, type_of(q->type), q->root, m->comm);
}

static int scatter(struct mpi_calls *m, const struct comm_request *q)
{
	bool in_place = m->rank == q->root && q->recv == part(q->send, bytes_of(q), m->rank);

	return MPI_Scatter(q->send, (int)q->count, type_of(q->type),
			   in_place ? MPI_IN_PLACE : q->recv, (int)q->count, type_of(q->type),
			   q->root, m->comm);
}

static int all_to_all(struct mpi_calls *m, const struct comm_request *q)
{
	return MPI_Alltoall(q->send == q->recv ? MPI_IN_PLACE : q->send, (int)q->count,
			    type_of(q->type), q->recv, (int)q->count, type_of(q->type), m->comm);
}

static int all_to_all_v(struct mpi_calls *m, const struct comm_request *q)
{
	int *out = m->counts, *in = out + m->size, *out_at = in + m->size,
	    *in_at = out_at + m->size;
	size_t sent = 0, got = 0;

	for (int i = 0; i < m->size; i++) {
		out_at[i] = (int)sent;
		in_at[i] = (int)got;
		out[i] = (int)q->send_counts[i];
		in[i] = (int)q->recv_counts[i];
		sent += q->send_counts[i];
		got += q->recv_counts[i];
	}
	if (sent > INT_MAX || got > INT_MAX)
		return MPI_ERR_COUNT;
	return MPI_Alltoallv(q->send == q->recv ? MPI_IN_PLACE : q->send, out, out_at,
			     type_of(q->type), q->recv, in, in_at, type_of(q->type), m->comm);
}

static int send_recv(struct mpi_calls *m, const struct comm_request *q)
{
	int next = (m->rank + 1) % m->size, before = (m->rank + m->size - 1) % m->size;
	MPI_Datatype t = type_of(q->type);

	if (q->send == q->recv)
		return MPI_Sendrecv_replace(q->recv, (int)q->count, t, next, 0, before, 0, m->comm,
					    MPI_STATUS_IGNORE);
	return MPI_Sendrecv(q->send, (int)q->count, t, next, 0, q->recv, (int)q->count, t, before,
			    0, m->comm, MPI_STATUS_IGNORE);
}

static int barrier(struct mpi_calls *m, const struct comm_request *q)
{
	(void)q;
	return MPI_Barrier(m->comm);
}

/* How many elements of this rank's result are a reduction. */
static bool keeps_result(const struct mpi_calls *m, const struct comm_request *q)
{
	return q->kind == COLL_ALL_REDUCE || q->kind == COLL_REDUCE_SCATTER ||
	       (q->kind == COLL_REDUCE && m->rank == q->root);
}

int mpi_call(struct mpi_calls *m, const struct comm_request *q)
{
	static int (*const calls[COLL_KINDS])(struct mpi_calls *, const struct comm_request *) = {
		[COLL_ALL_REDUCE] = all_reduce,
		[COLL_ALL_GATHER] = all_gather,
		[COLL_REDUCE_SCATTER] = reduce_scatter,
		[COLL_BROADCAST] = broadcast,
		[COLL_REDUCE] = reduce,
		[COLL_ALLTOALL] = all_to_all,
		[COLL_ALLTOALLV] = all_to_all_v,
		[COLL_GATHER] = gather,
		[COLL_SCATTER] = scatter,
		[COLL_SENDRECV] = send_recv,
		[COLL_BARRIER] = barrier,
	};
	int error = calls[q->kind](m, q);

	if (!error && q->op == OP_AVG && keeps_result(m, q)) /* MPI has no average */
		reduce_divide(q->type, q->recv, q->count, (unsigned)m->size);
	return error;
}
