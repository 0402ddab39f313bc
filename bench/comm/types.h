#ifndef BENCH_COMM_TYPES_H
#define BENCH_COMM_TYPES_H
/*
 * Element types and reductions, named as nccl-tests names them. half and
 * bfloat16 are stored as their 16 bits and reduced in float, rounded to nearest
 * even after every addition, as hardware does; so are the two floats of 8 bits, which
 * have no infinity to run into: what is too large becomes the largest (of e5m2, too, as
 * NCCL and CUDA's conversions have it). Whole numbers wrap around.
 */
#include "lib/core/base.h"

enum dtype {
	DT_INT8,
	DT_UINT8,
	DT_INT32,
	DT_UINT32,
	DT_INT64,
	DT_UINT64,
	DT_HALF,
	DT_FLOAT,
	DT_DOUBLE,
	DT_BFLOAT16,
	DT_F8E4M3,
	DT_F8E5M2,
	DT_COUNT
};
/* All but those that few know: the floats of 8 bits. */
#define DT_COMMON ((1u << DT_F8E4M3) - 1)
#define DT_ALL ((1u << DT_COUNT) - 1)
/* mulsum: what each rank puts in is multiplied, in its type, by a number of its own first. */
enum redop { OP_SUM, OP_PROD, OP_MAX, OP_MIN, OP_AVG, OP_MULSUM, OP_COUNT };
/* All but the one that few know. */
#define OP_COMMON ((1u << OP_MULSUM) - 1)
#define OP_ALL ((1u << OP_COUNT) - 1)

const char *dtype_name(enum dtype t);
size_t dtype_size(enum dtype t);
bool dtype_is_float(enum dtype t);
int dtype_find(const char *name, enum dtype *ret) MUST_CHECK; /* float32, fp16, char ... too */
const char *redop_name(enum redop op);
int redop_find(const char *name, enum redop *ret) MUST_CHECK;

/* nccl-tests' numbers: every other rank's values count twice. */
static inline int redop_times(enum redop op, int rank)
{
	return op == OP_MULSUM ? 1 + rank % 2 : 1;
}
/* Element @i of @to becomes @v, which its type has to have room for. */
void dtype_put(enum dtype t, void *to, size_t i, int64_t v);

/* NULL-terminated, in the order of the enums, "all" last: for option tables. */
extern const char *const dtype_names[], *const redop_names[];

static inline float bits_to_float(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}
static inline uint32_t float_to_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}
/* Without branches, so that loops over them become vector code. */
static inline float bf16_to_float(uint16_t h) { return bits_to_float((uint32_t)h << 16); }
static inline uint16_t float_to_bf16(float f)
{
	uint32_t u = float_to_bits(f), nan = (u & 0x7fffffff) > 0x7f800000;

	return (uint16_t)(nan ? u >> 16 | 0x40 : (u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static inline float half_to_float(uint16_t h)
{
	uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13;
	/* the exponent's bias grows by 112; the product is exact, also for denormals */
	uint32_t u = float_to_bits(bits_to_float(magnitude) * 0x1p112f);

	u = (h & 0x7c00) == 0x7c00 ? magnitude | 0x7f800000 : u;
	return bits_to_float(u | (uint32_t)(h & 0x8000) << 16);
}
static inline uint16_t float_to_half(float f)
{
	uint32_t u = float_to_bits(f), sign = u >> 16 & 0x8000;
	uint32_t m = u & 0x7fffffff;
	/* below 2^-14 the half's last place is 2^-24: that of numbers just above 0.5 */
	uint32_t small = float_to_bits(bits_to_float(m) + 0.5f) - 0x3f000000;
	uint32_t usual = (m - (112u << 23) + 0xfff + (m >> 13 & 1)) >> 13;
	uint32_t h = m < 113u << 23 ? small : m >= 0x477ff000 ? 0x7c00 : usual;

	return (uint16_t)(sign | (m > 0x7f800000 ? 0x7e00 : h));
}

/* Of both: bits of the fraction, what the exponent is biased by, the largest one. */
static inline uint8_t float_to_f8(float f, unsigned fraction, unsigned bias, uint32_t largest)
{
	uint32_t u = float_to_bits(f), sign = u >> 24 & 0x80, m = u & 0x7fffffff;
	unsigned shift = 23 - fraction;
	/* a float whose last place is the smallest one's */
	float step = bits_to_float((127 - bias + 1 + shift) << 23);
	uint32_t small = float_to_bits(bits_to_float(m) + step) - float_to_bits(step);
	uint32_t usual =
		(m - ((127 - bias) << 23) + (1u << (shift - 1)) - 1 + (m >> shift & 1)) >> shift;
	uint32_t h = m < (127 - bias + 1) << 23 ? small : usual;

	h = m > 0x7f800000 ? 0x7f : m >= 0x47800000 || h > largest ? largest : h;
	return (uint8_t)(sign | h);
}
static inline uint8_t float_to_f8e4m3(float f) { return float_to_f8(f, 3, 7, 0x7e); }
static inline uint8_t float_to_f8e5m2(float f) { return float_to_f8(f, 2, 15, 0x7b); }
static inline float f8e4m3_to_float(uint8_t h)
{
	float f = bits_to_float((uint32_t)(h & 0x7f) << 20) * 0x1p120f;
	uint32_t u = (h & 0x7f) == 0x7f ? 0x7fc00000 : float_to_bits(f);

	return bits_to_float(u | (uint32_t)(h & 0x80) << 24);
}
static inline float f8e5m2_to_float(uint8_t h) { return half_to_float((uint16_t)(h << 8)); }

#endif
