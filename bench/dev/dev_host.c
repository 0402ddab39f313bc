#include "bench/dev/dev.h"

#include <sys/mman.h>

enum { ALIGN = 2 << 20, PERIOD_BYTES = PATTERN_PERIOD * 8 };

static int alloc(struct dev *d, size_t n, void **ret, struct err *e)
{
	void *p;

	(void)d;
	n = (n + ALIGN - 1) / ALIGN * ALIGN;
	p = aligned_alloc(ALIGN, n ? n : ALIGN);
	if (!p)
		return err_sys(e, "no %zu MiB of memory for a buffer", n >> 20);
	(void)madvise(p, n, MADV_HUGEPAGE);
	*ret = p;
	return 0;
}

static void release(struct dev *d, void *p)
{
	(void)d;
	free(p);
}

static void clear(struct dev *d, void *p, size_t n)
{
	(void)d;
	memset(p, 0xa5, n);
}

/* One period of the pattern, or as much of it as @from and @n need. */
static size_t table(const struct pattern *pattern, size_t from, size_t n, void *ret)
{
	size_t first = from % PATTERN_PERIOD;
	size_t need = n < PATTERN_PERIOD - first ? first + n : PATTERN_PERIOD;

	pattern_values(pattern, need, ret);
	return first;
}

static void fill(struct dev *d, void *p, const struct pattern *pattern, size_t from, size_t n)
{
	char values[PERIOD_BYTES], *to = p;
	size_t size = dtype_size(pattern->type), at = table(pattern, from, n, values);

	(void)d;
	while (n) {
		size_t k = n < PATTERN_PERIOD - at ? n : PATTERN_PERIOD - at;

		memcpy(to, values + at * size, k * size);
		to += k * size;
		n -= k;
		at = 0;
	}
}

static size_t differ(const char *a, const char *b, size_t n, size_t size)
{
	size_t wrong = 0;

	if (memcmp(a, b, n * size) == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		wrong += memcmp(a + i * size, b + i * size, size) != 0;
	return wrong;
}

static size_t wrong(struct dev *d, const void *p, const struct pattern *pattern, size_t from,
		    size_t n)
{
	char values[PERIOD_BYTES];
	const char *is = p;
	size_t size = dtype_size(pattern->type), at = table(pattern, from, n, values), bad = 0;

	(void)d;
	while (n) {
		size_t k = n < PATTERN_PERIOD - at ? n : PATTERN_PERIOD - at;

		bad += differ(is, values + at * size, k, size);
		is += k * size;
		n -= k;
		at = 0;
	}
	return bad;
}

static int sync_host(struct dev *d, struct err *e)
{
	(void)d;
	(void)e;
	return 0;
}

struct dev dev_host = {
	.kind = "host memory",
	.alloc = alloc,
	.free = release,
	.clear = clear,
	.fill = fill,
	.wrong = wrong,
	.sync = sync_host,
};
