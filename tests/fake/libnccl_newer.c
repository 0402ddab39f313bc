/* Of the stand-in for NCCL: what NCCL has learned since 2.14. */
#include "tests/fake/libnccl.h"

#ifndef OLD

void fake_split_goes_on(struct ncclComm *c)
{
	if (!c->splitting || fake_mode("split-hang") || --c->splitting)
		return;
	*c->part_to = c->part;
}

/* As the real one: nothing is known before the parent is ready again. */
ncclResult_t ncclCommSplit(ncclComm_t c, int colour, int key, ncclComm_t *ret, ncclConfig_t *config)
{
	const int own[2] = {colour, key};
	int size = 0, rank = 0;
	char path[160];

	(void)config;
	if (!fake_is_ready(c, __func__))
		return ncclInvalidArgument;
	memcpy(c->shared->slots[c->rank], own, sizeof(own));
	fake_meet(c);
	for (int r = 0; r < c->size; r++) {
		int other[2];

		memcpy(other, c->shared->slots[r], sizeof(other));
		if (other[0] != colour)
			continue;
		size++;
		rank += other[1] < key || (other[1] == key && r < c->rank);
	}
	fake_meet(c);
	c->splits++;
	c->splitting = 2;
	c->part = NULL;
	c->part_to = ret;
	*ret = NULL;
	if (colour == NCCL_SPLIT_NOCOLOR)
		return c->blocks ? fake_finish(c) : ncclInProgress;
	if ((size_t)snprintf(path, sizeof(path), "%.120s.%d.%d", c->path, c->splits, colour) >=
	    sizeof(path))
		return ncclInternalError;
	c->part = calloc(1, sizeof(*c->part));
	if (!c->part || !fake_join(c->part, path, size, rank))
		return ncclSystemError;
	c->part->is_part = true;
	fake_meet(c->part);
	(void)unlink(path);
	c->part->blocks = c->blocks;
	return c->blocks ? fake_finish(c) : ncclInProgress;
}

/* --- memory: what is used has to have been registered, and to be given back -------------- */

enum { PIECES = 16 };
static struct piece {
	char *p;
	size_t n;
	bool registered;
} pieces[PIECES];

static struct piece *piece_of(const void *p)
{
	for (size_t i = 0; i < PIECES; i++)
		if (pieces[i].p == (const char *)p)
			return &pieces[i];
	return NULL;
}

ncclResult_t ncclMemAlloc(void **ret, size_t n)
{
	struct piece *free_one = piece_of(NULL);

	*ret = NULL;
	if (!fake_has_context(__func__))
		return ncclUnhandledCudaError;
	*ret = free_one ? aligned_alloc(4096, (n + 4095) / 4096 * 4096) : NULL;
	if (!*ret)
		return ncclSystemError;
	*free_one = (struct piece){*ret, n, false};
	return ncclSuccess;
}

ncclResult_t ncclMemFree(void *p)
{
	struct piece *x = p ? piece_of(p) : NULL;

	fake_is_outside(__func__);
	if (!x || x->registered)
		return ncclInvalidUsage;
	*x = (struct piece){0};
	free(p);
	return ncclSuccess;
}

static ncclResult_t add(void *p, size_t n, void **ret)
{
	struct piece *x = p ? piece_of(p) : NULL;

	if (!x || n > x->n || x->registered)
		return ncclInvalidArgument;
	x->registered = true;
	*ret = x;
	return ncclSuccess;
}

ncclResult_t ncclCommRegister(ncclComm_t c, void *p, size_t n, void **ret)
{
	(void)c;
	return add(p, n, ret);
}

/* As the real one: it says that all is well while it is still at it, and tells later. */
ncclResult_t ncclCommWindowRegister(ncclComm_t c, void *p, size_t n, ncclWindow_t *ret, int flags)
{
	struct fake_op op = {.kind = FAKE_WINDOW, .window_to = (void **)ret};
	ncclResult_t r =
		flags == NCCL_WIN_COLL_SYMMETRIC ? add(p, n, &op.window) : ncclInvalidArgument;

	*ret = NULL;
	if (fake_mode("no-window") && r == ncclSuccess) {
		((struct piece *)op.window)->registered = false;
		return ncclSuccess;
	}
	if (r == ncclSuccess)
		r = fake_begin(c, &op, __func__);
	if (c->blocks && r == ncclInProgress)
		r = fake_finish(c);
	return r == ncclInProgress ? ncclSuccess : r;
}

ncclResult_t ncclCommDeregister(ncclComm_t c, void *handle)
{
	if (!fake_is_ready(c, __func__))
		return ncclInvalidArgument;
	fake_hang("drop-hang", c);
	((struct piece *)handle)->registered = false;
	return ncclSuccess;
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t c, ncclWindow_t w)
{
	return ncclCommDeregister(c, w);
}

/* --- exchanges of 2.28: what sends and receives would do ------------------------------------- */

static size_t bytes_of(size_t count, ncclDataType_t type)
{
	static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

	return count * sizes[type];
}

static void begin(const char *what)
{
	if (fake_mode("tells"))
		(void)fprintf(stderr, "stand-in for NCCL: %s\n", what);
	(void)ncclGroupStart();
}

ncclResult_t ncclAlltoAll(const void *send, void *recv, size_t count, ncclDataType_t type,
			  ncclComm_t c, cudaStream_t s)
{
	size_t n = bytes_of(count, type);

	begin(__func__);
	for (int p = 0; p < c->size; p++) {
		(void)ncclSend((const char *)send + (size_t)p * n, n, ncclInt8, p, c, s);
		(void)ncclRecv((char *)recv + (size_t)p * n, n, ncclInt8, p, c, s);
	}
	return ncclGroupEnd();
}

ncclResult_t ncclGather(const void *send, void *recv, size_t count, ncclDataType_t type, int root,
			ncclComm_t c, cudaStream_t s)
{
	size_t n = bytes_of(count, type);

	begin(__func__);
	(void)ncclSend(send, n, ncclInt8, root, c, s);
	for (int p = 0; c->rank == root && p < c->size; p++)
		(void)ncclRecv((char *)recv + (size_t)p * n, n, ncclInt8, p, c, s);
	return ncclGroupEnd();
}

ncclResult_t ncclScatter(const void *send, void *recv, size_t count, ncclDataType_t type, int root,
			 ncclComm_t c, cudaStream_t s)
{
	size_t n = bytes_of(count, type);

	begin(__func__);
	for (int p = 0; c->rank == root && p < c->size; p++)
		(void)ncclSend((const char *)send + (size_t)p * n, n, ncclInt8, p, c, s);
	(void)ncclRecv(recv, n, ncclInt8, root, c, s);
	return ncclGroupEnd();
}

void fake_nothing_is_left(void)
{
	for (size_t i = 0; i < PIECES; i++)
		if (pieces[i].registered)
			(void)fprintf(stderr, "stand-in for NCCL: a buffer is still registered\n");
}
#else
void fake_split_goes_on(struct ncclComm *c) { (void)c; }
void fake_nothing_is_left(void) {}
#endif
