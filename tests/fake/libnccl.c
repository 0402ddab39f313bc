/*
 * A stand-in for NCCL, for tests of error paths: ranks on one host reduce in
 * shared memory. No result of it is ever a measurement.
 *
 *	WINDSOCK_FAKE_NCCL=init-hang    a communicator is never ready
 *	                   slow-init    it takes 6 s, and the log tells of progress
 *	                   async-error  the third operation meets a dead peer
 *	                   part-error   likewise, in a communicator that was split off
 *	                   wrong-sum    rank 1's result has one wrong element
 *	                   any-order    sums are rounded otherwise each time, for all alike
 *	                   duplicate    two ranks on one GPU are refused
 *	                   one-sided    GPUDirect does not work where rank 1 receives
 *	                   old          2.13.4 everywhere
 *	                   split-hang   a communicator that is split is never ready again
 *	                   end-hang     one that is finalized likewise
 *	                   one-host     all ranks are of one host: none may claim to be another
 *	WINDSOCK_FAKE_COUNT=FILE        who asks second (a rank) has another version
 * Compiled with -DWITHOUT_ABORT it lacks ncclCommAbort, with -DOLD it is 2.16.
 */
#include "tests/fake/libnccl.h"
#include "bench/comm/reduce.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <time.h>

#ifdef OLD
enum { NEWEST = 21602 };
#else
enum { NEWEST = 22809 };
#endif

static const char *last_error = "";

bool fake_mode(const char *name)
{
	const char *set = getenv("WINDSOCK_FAKE_NCCL");

	return set && streq(set, name);
}

ncclResult_t ncclGetVersion(int *version)
{
	const char *count = getenv("WINDSOCK_FAKE_COUNT"); /* a file: one byte for each who asked */
	int fd = count ? open(count, O_RDWR | O_CREAT | O_APPEND, 0600) : -1;
	bool second = fd >= 0 && write(fd, "x", 1) == 1 && lseek(fd, 0, SEEK_END) == 2;

	if (fd >= 0)
		(void)close(fd);
	*version = fake_mode("old") ? 21304 : second ? 22703 : NEWEST;
	return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
	memset(id, 0, sizeof(*id));
	(void)snprintf(id->internal, sizeof(id->internal), "%.90s/windsock-fake-%d",
		       getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (int)getpid());
	return ncclSuccess;
}

void fake_meet(struct ncclComm *c)
{
	unsigned target = ++c->round * (unsigned)c->size;

	__atomic_add_fetch(&c->shared->arrived, 1, __ATOMIC_ACQ_REL);
	for (int i = 0; __atomic_load_n(&c->shared->arrived, __ATOMIC_ACQUIRE) < target; i++)
		(void)(i < 100 ? sched_yield() : usleep(50));
}

/* Becomes a communicator of those who name the same file. */
bool fake_join(struct ncclComm *c, const char *path, int size, int rank)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(struct shared)))
		return false;
	*c = (struct ncclComm){.rank = rank, .size = size};
	(void)snprintf(c->path, sizeof(c->path), "%s", path);
	c->shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)close(fd);
	return c->shared != MAP_FAILED;
}

static void write_log(int rank, int size)
{
	const char *path = getenv("NCCL_DEBUG_FILE");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f)
		return;
	fprintf(f,
		"vm:1:1 [0] NCCL INFO Channel 00/0 : %d[0] -> %d[0] [send] via NET/IB/0/GDRDMA\n",
		rank, (rank + 1) % size);
	fprintf(f, "vm:1:1 [0] NCCL INFO Channel 00/0 : %d[0] -> %d[0] [receive] via NET/IB/0%s\n",
		(rank + size - 1) % size, rank,
		fake_mode("one-sided") && rank == 1 ? "" : "/GDRDMA");
	(void)fclose(f);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *ret, int size, ncclUniqueId id, int rank,
				    ncclConfig_t *config)
{
	struct ncclComm *c = calloc(1, sizeof(*c));

	if (config->blocking)
		return ncclInvalidArgument;
	if (fake_mode("one-host") && getenv("NCCL_HOSTID")) {
		last_error = "this host claims to be another one";
		free(c);
		return ncclInvalidUsage;
	}
	if (fake_mode("duplicate")) {
		last_error = "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000";
		free(c);
		return ncclInvalidUsage;
	}
	if (!fake_join(c, id.internal, size, rank))
		return ncclSystemError;
	*ret = c;
	write_log(rank, size);
	if (fake_mode("init-hang"))
		return ncclInProgress;
	fake_meet(c);
	(void)unlink(id.internal);
	return ncclInProgress;
}

/* For 6 seconds, with a line each. */
static bool goes_slowly(void)
{
	static time_t began, said;
	time_t now = time(NULL);
	const char *path = getenv("NCCL_DEBUG_FILE");
	FILE *f = NULL;

	if (!fake_mode("slow-init"))
		return false;
	began = began ? began : now;
	if (said != now && path)
		f = fopen(path, "a");
	said = now;
	if (f) {
		fprintf(f, "vm:1:1 [0] NCCL INFO Bootstrap: going on\n");
		(void)fclose(f);
	}
	return now - began < 6;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *state)
{
	bool fails = fake_mode("async-error") || (fake_mode("part-error") && c->is_part);

	fake_split_goes_on(c);
	if (goes_slowly()) {
		*state = ncclInProgress;
		return ncclSuccess;
	}
	if (c->finalizing > 1 && !fake_mode("end-hang"))
		c->finalizing--;
	*state = fake_mode("init-hang") || c->splitting || c->finalizing > 1 ? ncclInProgress
		 : fails && c->operations >= 3				     ? ncclRemoteError
									     : ncclSuccess;
	if (*state == ncclRemoteError)
		last_error = "Call to recv from 127.0.0.1<40000> failed : Connection reset by peer";
	return ncclSuccess;
}

/* Whose kernel the GPU is at, as far as anybody can know. */
static ncclComm_t at_work;

static ncclResult_t done(ncclComm_t c)
{
	(void)munmap(c->shared, sizeof(*c->shared));
	at_work = at_work == c ? NULL : at_work;
	free(c);
	return ncclSuccess;
}

#ifndef WITHOUT_ABORT
/* The real one gives memory back, and that waits for the kernel of another one. */
ncclResult_t ncclCommAbort(ncclComm_t c)
{
	if (at_work && at_work != c)
		(void)fprintf(stderr, "stand-in for NCCL: aborted beside a kernel that runs\n");
	return done(c);
}
#endif
ncclResult_t ncclCommFinalize(ncclComm_t c)
{
	c->finalizing = 3;
	return ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t c)
{
	if (c->finalizing != 1)
		(void)fprintf(stderr, "stand-in for NCCL: destroyed without being finalized\n");
	return done(c);
}
const char *ncclGetErrorString(ncclResult_t r)
{
	return r == ncclRemoteError    ? "remote process exited or there was a network error"
	       : r == ncclInvalidUsage ? "invalid usage (run with NCCL_DEBUG=WARN for details)"
				       : "internal error";
}
const char *ncclGetLastError(ncclComm_t c)
{
	(void)c;
	return last_error;
}

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
			       : OP_SUM;
}

/* What was put on the stream before us is done before us. */
static void follow(cudaStream_t s)
{
	int (*query)(cudaStream_t);

	*(void **)&query = dlsym(RTLD_DEFAULT, "cuStreamQuery");
	if (query)
		(void)query(s);
}

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
			   ncclRedOp_t nccl_op, ncclComm_t c, cudaStream_t s)
{
	enum dtype t = type_of(type);
	enum redop op = op_of(nccl_op);
	size_t n = count * dtype_size(t);

	follow(s);
	if (n > SLOT)
		return ncclInternalError;
	memcpy(c->shared->slots[c->rank], send, n);
	fake_meet(c);
	memcpy(recv, c->shared->slots[0], n);
	for (int r = 1; r < c->size; r++)
		reduce_find(t, op)(recv, recv, c->shared->slots[r], count);
	if (op == OP_AVG)
		reduce_divide(t, recv, count, (unsigned)c->size);
	if (fake_mode("wrong-sum") && c->rank == 1 && count > 100)
		((char *)recv)[n / 2] ^= 0x40;
	for (size_t i = 0; i < count && t == DT_FLOAT && fake_mode("any-order"); i++)
		((uint32_t *)recv)[i] ^= (unsigned)(c->operations + 1) * 2654435761U >> 31;
	fake_meet(c);
	c->operations++;
	at_work = c;
	return ncclSuccess;
}

/* Everybody's bytes lie where everybody can read them, until the second meeting. */
static bool publish(ncclComm_t c, const void *send, size_t n)
{
	if (n > SLOT)
		return false;
	if (send)
		memcpy(c->shared->slots[c->rank], send, n);
	fake_meet(c);
	return true;
}

static ncclResult_t withdraw(ncclComm_t c)
{
	fake_meet(c);
	c->operations++;
	at_work = c;
	return ncclSuccess;
}

static void reduce_at(ncclComm_t c, void *recv, size_t from, size_t count, enum dtype t,
		      enum redop op)
{
	memcpy(recv, c->shared->slots[0] + from, count * dtype_size(t));
	for (int r = 1; r < c->size; r++)
		reduce_find(t, op)(recv, recv, c->shared->slots[r] + from, count);
	if (op == OP_AVG)
		reduce_divide(t, recv, count, (unsigned)c->size);
}

ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
			ncclRedOp_t op, int root, ncclComm_t c, cudaStream_t s)
{
	follow(s);
	if (!publish(c, send, count * dtype_size(type_of(type))))
		return ncclInternalError;
	if (c->rank == root)
		reduce_at(c, recv, 0, count, type_of(type), op_of(op));
	return withdraw(c);
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type,
			       ncclRedOp_t op, ncclComm_t c, cudaStream_t s)
{
	size_t n = count * dtype_size(type_of(type));

	follow(s);
	if (!publish(c, send, n * (size_t)c->size))
		return ncclInternalError;
	reduce_at(c, recv, n * (size_t)c->rank, count, type_of(type), op_of(op));
	return withdraw(c);
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type,
			   int root, ncclComm_t c, cudaStream_t s)
{
	size_t n = count * dtype_size(type_of(type));

	follow(s);
	if (!publish(c, c->rank == root ? send : NULL, n))
		return ncclInternalError;
	memcpy(recv, c->shared->slots[root], n);
	return withdraw(c);
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type,
			   ncclComm_t c, cudaStream_t s)
{
	size_t n = count * dtype_size(type_of(type));

	follow(s);
	if (!publish(c, send, n))
		return ncclInternalError;
	for (int r = 0; r < c->size; r++)
		memmove((char *)recv + n * (size_t)r, c->shared->slots[r], n);
	return withdraw(c);
}

/* --- groups of sends and receives: a slot is a row of (to, bytes, data) --------------- */

struct parcel {
	size_t to, n;
};
static struct {
	ncclComm_t comm;
	size_t used;
	struct {
		void *to;
		size_t n;
		int from;
	} receives[RANKS];
	int nreceives;
} group;

ncclResult_t ncclGroupStart(void)
{
	memset(&group, 0, sizeof(group));
	return ncclSuccess;
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t c,
		      cudaStream_t s)
{
	struct parcel p = {(size_t)peer, count * dtype_size(type_of(type))};
	char *slot = c->shared->slots[c->rank];

	follow(s);
	group.comm = c;
	if (group.used + p.n + 2 * sizeof(p) > SLOT)
		return ncclInternalError;
	memcpy(slot + group.used, &p, sizeof(p));
	memcpy(slot + group.used + sizeof(p), send, p.n);
	group.used += sizeof(p) + p.n;
	return ncclSuccess;
}

ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t c,
		      cudaStream_t s)
{
	follow(s);
	group.comm = c;
	group.receives[group.nreceives].to = recv;
	group.receives[group.nreceives].n = count * dtype_size(type_of(type));
	group.receives[group.nreceives++].from = peer;
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

ncclResult_t ncclGroupEnd(void)
{
	const struct parcel end = {SIZE_MAX, 0};
	ncclComm_t c = group.comm;
	bool ok = true;

	if (!c) /* a rank with nothing to do: all ranks of these tests have something */
		return ncclInternalError;
	memcpy(c->shared->slots[c->rank] + group.used, &end, sizeof(end));
	fake_meet(c);
	for (int i = 0; i < group.nreceives; i++)
		ok &= receive(c->shared->slots[group.receives[i].from], (size_t)c->rank,
			      group.receives[i].to, group.receives[i].n);
	(void)withdraw(c);
	return ok ? ncclSuccess : ncclInvalidArgument;
}
