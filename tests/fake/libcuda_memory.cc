/* Of the driver's stand-in: memory, and copies. */
#include "tests/fake/libcuda.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

#include <map>

#include <unistd.h>

static std::map<const char *, size_t> taken, pinned;
static size_t all_memory() { return size_t(fake_mode("hopper") ? 1 << 10 : 48) << 20; }

static size_t in_use()
{
	size_t sum = 0;

	for (const auto &piece : taken)
		sum += piece.second;
	return sum;
}
static bool is_pinned(const void *p)
{
	auto next = pinned.upper_bound(static_cast<const char *>(p));

	return next != pinned.begin() && (--next, p < next->first + next->second);
}
/* The driver's memory ends where it was allocated; what is not its own it cannot judge. */
static bool fits(CUdeviceptr at, size_t n)
{
	const char *p = reinterpret_cast<const char *>(at);
	auto next = taken.upper_bound(p);

	if (next == taken.begin() || (--next, p >= next->first + next->second))
		return true;
	return n <= static_cast<size_t>(next->first + next->second - p);
}
static CUresult outside()
{
	return fake_refuse("a copy beyond the end of its memory", CUDA_ERROR_INVALID_VALUE);
}
static char *allocate(size_t n)
{
	char *p = static_cast<char *>(aligned_alloc(512, (n + 511) / 512 * 512));

	if (p) /* what nobody has written is nothing that one could use */
		memset(p, 0xff, n);
	return p;
}

OUT CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
	READY();
	UNSAFE("cuMemAlloc");
	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	char *at = fake_mode("small") && in_use() + n > all_memory() ? nullptr : allocate(n);

	*p = reinterpret_cast<CUdeviceptr>(at);
	if (!at)
		return CUDA_ERROR_OUT_OF_MEMORY;
	taken[at] = n;
	return CUDA_SUCCESS;
}
/* The stand-in for NCCL knows whether one of its calls was left, which had locks of ours. */
static void outside(const char *what)
{
	using ask_fn = void(const char *);
	auto *ask = reinterpret_cast<ask_fn *>(dlsym(RTLD_DEFAULT, "fake_is_outside"));

	if (ask)
		ask(what);
}

OUT CUresult cuMemFree_v2(CUdeviceptr p)
{
	READY();
	UNSAFE("cuMemFree");
	outside("cuMemFree");
	if (!taken.count(reinterpret_cast<char *>(p)))
		return fake_refuse("memory is freed that is not its own", CUDA_ERROR_INVALID_VALUE);
	fake_wait_for_all();
	taken.erase(reinterpret_cast<char *>(p));
	free(reinterpret_cast<void *>(p));
	return CUDA_SUCCESS;
}
OUT CUresult cuMemGetInfo_v2(size_t *left, size_t *all)
{
	READY();
	*all = all_memory();
	*left = fake_mode("integrated") ? 1 << 20 : in_use() < *all ? *all - in_use() : 0;
	return CUDA_SUCCESS;
}
/*
 * Mode "ahead": was the memory that a batch was copied from filled anew while a backward
 * pass was at work? Kernels that look for strange gradients belong to one.
 */
static const char *batch_at;
static std::vector<char> batch;
static CUstream back; /* where one is at work */

static void note_batch(const void *from, size_t n)
{
	enum { LEAST = 4096 }; /* what is smaller is none */

	if (!fake_mode("ahead") || n < LEAST)
		return;
	batch_at = static_cast<const char *>(from);
	batch.assign(batch_at, batch_at + n);
}
void fake_launched(const char *kernel, CUstream s)
{
	back = strcmp(kernel, "find_strange") ? back : s;
}
void fake_asked(CUstream s)
{
	if (s != back)
		return;
	if (!batch.empty() && memcmp(batch.data(), batch_at, batch.size()))
		fprintf(stderr, "stand-in for the driver: filled beside a backward pass\n");
	back = nullptr;
}
OUT CUresult cuMemHostAlloc(void **p, size_t n, unsigned)
{
	READY();
	char *at = n ? allocate(n) : nullptr;

	*p = at;
	if (at)
		pinned[at] = n;
	return at ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
OUT CUresult cuMemFreeHost(void *p)
{
	READY();
	if (!pinned.count(static_cast<char *>(p)))
		return fake_refuse("memory is freed that is not its own", CUDA_ERROR_INVALID_VALUE);
	fake_wait_for_all();
	pinned.erase(static_cast<char *>(p));
	if (p == batch_at)
		batch.clear();
	free(p);
	return CUDA_SUCCESS;
}
/* Mode "far": what is larger than batches of the tests are is a while on its way. */
static void travel(size_t n)
{
	enum { LEAST = 65536, USECONDS = 20000 };

	if (fake_mode("far") && n >= LEAST)
		usleep(USECONDS);
}
/* What is pinned is read when its turn comes, other memory before the call returns. */
OUT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, CUstream s)
{
	void *at = reinterpret_cast<void *>(to);

	if (!fits(to, n))
		return outside();
	travel(n);
	if (is_pinned(from))
		note_batch(from, n);
	if (is_pinned(from))
		return fake_enqueue(s, [at, from, n] { memcpy(at, from, n); });
	const char *bytes = static_cast<const char *>(from);
	std::vector<char> now(bytes, bytes + n);
	return fake_enqueue(s, [at, now] { memcpy(at, now.data(), now.size()); });
}
OUT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream s)
{
	const void *at = reinterpret_cast<void *>(from);
	if (!fits(from, n))
		return outside();
	travel(n);
	CUresult r = fake_enqueue(s, [to, at, n] { memcpy(to, at, n); });

	if (!is_pinned(to))
		fake_advance();
	return r;
}
OUT CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char v, size_t n, CUstream s)
{
	if (!fits(p, n))
		return outside();
	return fake_enqueue(s, [p, v, n] { memset(reinterpret_cast<void *>(p), v, n); });
}
