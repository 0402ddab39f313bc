#include "bench/dev/pattern.h"

#include "bench/comm/reduce.h"

static const int64_t exact[DT_COUNT] = {
	/* so far whole numbers are exact; for whole number types: the largest */
	[DT_INT8] = 127,	  [DT_UINT8] = 255,	  [DT_INT32] = INT32_MAX,
	[DT_UINT32] = UINT32_MAX, [DT_INT64] = INT64_MAX, [DT_UINT64] = INT64_MAX,
	[DT_HALF] = 2048,	  [DT_FLOAT] = 1 << 24,	  [DT_DOUBLE] = INT64_C(1) << 53,
	[DT_BFLOAT16] = 256,	  [DT_F8E4M3] = 16,	  [DT_F8E5M2] = 8,
};

static uint64_t mix(uint64_t i, uint64_t rank, uint64_t seed)
{
	uint64_t x = i * 0x9e3779b97f4a7c15 + rank * 0xd1b54a32d192ed03 + seed * 0x8cb92ba72f3d8dd7;

	x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
	x = (x ^ x >> 29) * 0xd6e8feb86659fd93;
	return x ^ x >> 32;
}

/* One of @n numbers from 0, by the upper bits of @h: a division takes ten times as long. */
static uint64_t one_of(uint64_t h, uint64_t n)
{
	return (uint64_t)((unsigned __int128)h * n >> 64);
}

static bool is_unsigned(enum dtype t) { return t == DT_UINT8 || t == DT_UINT32 || t == DT_UINT64; }

/* From -limit (unsigned: 0) to limit. */
static int64_t within(const struct pattern *p, uint64_t h, int64_t limit)
{
	int64_t v = (int64_t)one_of(h, (uint64_t)limit + 1);

	return h & 1 && !is_unsigned(p->type) ? -v : v;
}

static bool has_turn(const struct pattern *p, int rank, uint64_t i)
{
	return one_of(mix(i, 0, ~p->seed), (uint64_t)p->ranks) == (uint64_t)rank;
}

/* More ranks than the type has whole numbers for. */
static bool averages_are_rounded(const struct pattern *p)
{
	return p->op == OP_AVG && p->ranks > exact[p->type];
}

/* All ranks' values are multiples of their number, so that the average is whole. */
static int64_t to_average(const struct pattern *p, int rank, uint64_t i, uint64_t h)
{
	int64_t n = p->ranks, limit = exact[p->type] / n / n;

	if (limit >= 1)
		return within(p, h, limit) * n;
	if (!has_turn(p, rank, i))
		return 0;
	if (!averages_are_rounded(p))
		return within(p, h, exact[p->type] / n) * n;
	/* about 2, or -2: of an average that is only near to it, zero and the other are wrong */
	return dtype_is_float(p->type) ? (h & 1 ? -2 : 2) * n : within(p, h, exact[p->type]);
}

static int64_t value(const struct pattern *p, int rank, uint64_t i)
{
	uint64_t h = mix(i, (uint64_t)rank, p->seed);
	int64_t limit = exact[p->type], shares = p->ranks;
	bool sums = dtype_is_float(p->type) && (p->op == OP_SUM || p->op == OP_MULSUM);

	if (p->op == OP_MULSUM)
		shares += p->ranks / 2; /* as many count twice */
	if (p->op == OP_AVG)
		return to_average(p, rank, i, h);
	if (dtype_is_float(p->type) && p->op == OP_PROD) /* 2^8 fits everywhere */
		return (h & 1 ? -1 : 1) * (h & 2 && rank < 8 ? 2 : 1);
	if (sums && limit >= shares)
		limit /= shares;
	else if (sums && !has_turn(p, rank, i))
		return 0;
	return within(p, h, limit);
}

/* In 64 bits and modulo 2^64: right for every whole number type, exact for the others. */
static int64_t combine(enum redop op, int64_t a, int64_t b)
{
	switch (op) {
	case OP_PROD:
		return (int64_t)((uint64_t)a * (uint64_t)b);
	case OP_MAX:
		return a > b ? a : b;
	case OP_MIN:
		return a < b ? a : b;
	default:
		return (int64_t)((uint64_t)a + (uint64_t)b);
	}
}

static int64_t reduced(const struct pattern *p, uint64_t i)
{
	int64_t v = value(p, 0, i);

	for (int r = 1; r < p->ranks; r++)
		v = combine(p->op, v, combine(OP_PROD, value(p, r, i), redop_times(p->op, r)));
	return p->op == OP_AVG && !averages_are_rounded(p) ? v / p->ranks : v;
}

void pattern_values(const struct pattern *p, size_t n, void *ret)
{
	for (size_t i = 0; i < n; i++)
		dtype_put(p->type, ret, i, p->rank < 0 ? reduced(p, i) : value(p, p->rank, i));
	if (p->rank < 0 && averages_are_rounded(p))
		reduce_divide(p->type, ret, n, (unsigned)p->ranks);
}
