/* Conversions of 16-bit and 8-bit floats against arithmetic, the vector loops against plain
 * code, and the patterns that everything else is verified with. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/comm/reduce.h"
#include "bench/dev/dev.h"

enum { COUNT = 1031 }; /* no multiple of any vector */

/* What the bits of a half mean, by the book. */
static double half_value(unsigned h)
{
	int exponent = h >> 10 & 31;
	double fraction = h & 1023, sign = h >> 15 ? -1 : 1;

	if (exponent == 31)
		return fraction > 0 ? NAN : sign * INFINITY;
	return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static double bf16_value(unsigned h)
{
	int exponent = h >> 7 & 255;
	double fraction = h & 127, sign = h >> 15 ? -1 : 1;

	if (exponent == 255)
		return fraction > 0 ? NAN : sign * INFINITY;
	return sign * (exponent ? ldexp(128 + fraction, exponent - 134) : ldexp(fraction, -133));
}

static void conversions(double (*value)(unsigned), float (*to)(uint16_t), uint16_t (*from)(float))
{
	for (unsigned h = 0; h < 0x10000; h++) {
		double v = value(h);
		float f = to((uint16_t)h);

		if (isnan(v)) {
			assert_true(isnan(f) && isnan(to(from(f))));
			continue;
		}
		assert_true((double)f == v && !signbit(f) == !(h >> 15));
		assert_int_equal(from(f), h);
	}
}

/* Halfway between two neighbours the even one wins; a hair beside it the nearer one. */
static void rounding(double (*value)(unsigned), uint16_t (*from)(float), unsigned largest)
{
	for (unsigned h = 0; h < largest; h++) {
		double middle = (value(h) + value(h + 1)) / 2;
		float f = (float)middle;

		if ((double)f != middle)
			continue; /* not a float */
		assert_int_equal(from(f), h & 1 ? h + 1 : h);
		assert_int_equal(from(nextafterf(f, 0)), h);
		assert_int_equal(from(nextafterf(f, INFINITY)), h + 1);
		assert_int_equal(from(-f), (h & 1 ? h + 1 : h) | 0x8000);
	}
}

static void halves_convert(void **state)
{
	(void)state;
	conversions(half_value, half_to_float, float_to_half);
	rounding(half_value, float_to_half, 0x7bff);
	assert_int_equal(float_to_half(65519.996f), 0x7bff);
	assert_int_equal(float_to_half(65520.0f), 0x7c00);
	assert_int_equal(float_to_half(-1e30f), 0xfc00);
	assert_int_equal(float_to_half(1e-30f), 0);
}

static void bfloats_convert(void **state)
{
	(void)state;
	conversions(bf16_value, bf16_to_float, float_to_bf16);
	rounding(bf16_value, float_to_bf16, 0x7f7f);
	assert_int_equal(float_to_bf16(INFINITY), 0x7f80);
}

static double f8_value(unsigned h, int fraction_bits, int bias)
{
	int exponent = (int)(h & 0x7f) >> fraction_bits, one = 1 << fraction_bits;
	double fraction = (int)h & (one - 1), sign = h >> 7 ? -1 : 1;

	return sign * (exponent ? ldexp(one + fraction, exponent - bias - fraction_bits)
				: ldexp(fraction, 1 - bias - fraction_bits));
}
static double e4m3_value(unsigned h) { return (h & 0x7f) == 0x7f ? NAN : f8_value(h, 3, 7); }
static double e5m2_value(unsigned h)
{
	if ((h & 0x7f) > 0x7c)
		return NAN;
	return (h & 0x7f) == 0x7c ? (h >> 7 ? -INFINITY : INFINITY) : f8_value(h, 2, 15);
}

static void small_floats(double (*value)(unsigned), float (*to)(uint8_t), uint8_t (*from)(float),
			 unsigned largest)
{
	for (unsigned h = 0; h < 256; h++) {
		double v = value(h);
		float f = to((uint8_t)h);

		assert_true(isnan(v) ? isnan(f) : (double)f == v && !signbit(f) == !(h >> 7));
		if ((h & 0x7f) <= largest)
			assert_int_equal(from(f), h);
	}
	for (unsigned h = 0; h < largest; h++) {
		float f = (float)((value(h) + value(h + 1)) / 2);

		assert_int_equal(from(f), h & 1 ? h + 1 : h);
		assert_int_equal(from(nextafterf(f, 0)), h);
		assert_int_equal(from(nextafterf(f, INFINITY)), h + 1);
		assert_int_equal(from(-f), (h & 1 ? h + 1 : h) | 0x80);
	}
	assert_int_equal(from(INFINITY), largest);
	assert_int_equal(from(-1e30f), largest | 0x80);
	assert_int_equal(from((float)value(largest) * 1.2f), largest);
	assert_int_equal(from(1e-30f), 0);
	assert_int_equal(from(NAN) & 0x7f, 0x7f);
}

static void floats_of_8_bits_convert(void **state)
{
	(void)state;
	small_floats(e4m3_value, f8e4m3_to_float, float_to_f8e4m3, 0x7e);
	small_floats(e5m2_value, f8e5m2_to_float, float_to_f8e5m2, 0x7b);
}

/* --- the loops ------------------------------------------------------------------ */

static double as_double(enum dtype t, const void *p, size_t i)
{
	switch (t) {
	case DT_HALF:
		return half_value(((const uint16_t *)p)[i]);
	case DT_BFLOAT16:
		return bf16_value(((const uint16_t *)p)[i]);
	case DT_F8E4M3:
		return e4m3_value(((const uint8_t *)p)[i]);
	case DT_F8E5M2:
		return e5m2_value(((const uint8_t *)p)[i]);
	case DT_FLOAT:
		return (double)((const float *)p)[i];
	default:
		return ((const double *)p)[i];
	}
}

static double combine_double(enum redop op, double a, double b)
{
	return op == OP_PROD  ? a * b
	       : op == OP_MAX ? fmax(a, b)
	       : op == OP_MIN ? fmin(a, b)
			      : a + b;
}

static uint64_t as_bits(enum dtype t, const void *p, size_t i)
{
	switch (t) {
	case DT_INT8:
		return (uint64_t)(int64_t)((const int8_t *)p)[i];
	case DT_UINT8:
		return ((const uint8_t *)p)[i];
	case DT_INT32:
		return (uint64_t)(int64_t)((const int32_t *)p)[i];
	case DT_UINT32:
		return ((const uint32_t *)p)[i];
	default:
		return ((const uint64_t *)p)[i];
	}
}

static uint64_t combine_bits(enum dtype t, enum redop op, uint64_t a, uint64_t b)
{
	bool is_signed = t == DT_INT8 || t == DT_INT32 || t == DT_INT64;
	bool less = is_signed ? (int64_t)a < (int64_t)b : a < b;

	return op == OP_PROD  ? a * b
	       : op == OP_MAX ? (less ? b : a)
	       : op == OP_MIN ? (less ? a : b)
			      : a + b;
}

static void check_loop(reduce_fn *fn, enum dtype t, enum redop op, size_t shift, size_t n)
{
	static uint64_t x[COUNT + 8], y[COUNT + 8], d[COUNT + 8];
	size_t size = dtype_size(t);
	char *px = (char *)x + shift * size, *py = (char *)y + size, *pd = (char *)d + shift * size;
	const struct pattern p = {.type = t, .op = PATTERN_MOVES, .ranks = 2, .seed = shift};
	struct pattern q = p;
	uint64_t mask = size == 8 ? UINT64_MAX : (UINT64_C(1) << size * 8) - 1;

	q.rank = 1;
	pattern_values(&p, n, px);
	pattern_values(&q, n, py);
	memset(d, 0x5a, sizeof(d));
	fn(pd, px, py, n);
	for (size_t i = 0; i < n; i++) {
		if (!dtype_is_float(t)) {
			uint64_t want = combine_bits(t, op, as_bits(t, px, i), as_bits(t, py, i));

			assert_int_equal(as_bits(t, pd, i) & mask, want & mask);
			continue;
		}
		double want = combine_double(op, as_double(t, px, i), as_double(t, py, i));
		double got = as_double(t, pd, i);
		double step = t == DT_F8E4M3	 ? 0x1p-4
			      : t == DT_F8E5M2	 ? 0x1p-3
			      : t == DT_BFLOAT16 ? 0x1p-8
			      : t == DT_HALF	 ? 0x1p-11
			      : t == DT_FLOAT	 ? 0x1p-24
						 : 0x1p-53;

		assert_true(got == want || fabs(got - want) <= fabs(want) * step ||
			    (t == DT_HALF && isinf(got) && fabs(want) >= 65520));
	}
	assert_int_equal(((unsigned char *)pd)[n * size], 0x5a);
	memcpy(pd, px, n * size); /* in place gives the same */
	fn(pd, pd, py, n);
	fn(px, px, py, n);
	assert_memory_equal(pd, px, n * size);
}

static void loops_are_right(void **state)
{
	unsigned sets = 0;

	(void)state;
	for (enum reduce_set set = 0; set < REDUCE_SETS; set++)
		for (enum dtype t = 0; t < DT_COUNT; t++)
			for (enum redop op = 0; op < OP_COUNT; op++) {
				reduce_fn *fn = reduce_find_in(set, t, op);

				for (size_t shift = 0; fn && shift < 3; shift++) {
					check_loop(fn, t, op, shift, COUNT);
					check_loop(fn, t, op, shift, shift);
					sets |= 1u << set;
				}
			}
	assert_true(sets & 1);
}

static void instruction_sets_agree(void **state)
{
	static uint32_t x[COUNT], y[COUNT], first[COUNT], other[COUNT];

	(void)state;
	srandom(7);
	for (size_t i = 0; i < COUNT; i++) { /* any bits: infinities, denormals too */
		x[i] = (uint32_t)random() * 3;
		y[i] = (uint32_t)random() * 5;
	}
	for (enum dtype t = 0; t < DT_COUNT; t++)
		for (enum redop op = 0; op < OP_COUNT; op++)
			for (enum reduce_set set = 1; set < REDUCE_SETS; set++) {
				size_t n = sizeof(x) / dtype_size(t);
				reduce_fn *fn = reduce_find_in(set, t, op);

				if (!fn)
					continue;
				reduce_find_in(REDUCE_PLAIN, t, op)(first, x, y, n);
				fn(other, x, y, n);
				for (size_t i = 0; i < n; i++)
					assert_true((dtype_is_float(t) &&
						     isnan(as_double(t, first, i)) &&
						     isnan(as_double(t, other, i))) ||
						    !memcmp((char *)first + i * dtype_size(t),
							    (char *)other + i * dtype_size(t),
							    dtype_size(t)));
			}
}

static void averages_divide(void **state)
{
	int8_t i8[] = {-128, 127, -7, 0};
	uint16_t h[] = {float_to_half(9), float_to_half(-3)};
	uint64_t u64[] = {UINT64_MAX};

	(void)state;
	reduce_divide(DT_INT8, i8, 4, 200);
	assert_int_equal(i8[0], 0);
	i8[0] = -128;
	reduce_divide(DT_INT8, i8, 1, 3);
	assert_int_equal(i8[0], -42);
	reduce_divide(DT_HALF, h, 2, 3);
	assert_int_equal(h[0], float_to_half(3));
	assert_int_equal(h[1], float_to_half(-1));
	reduce_divide(DT_UINT64, u64, 1, 2);
	assert_true(u64[0] == UINT64_MAX / 2);
}

/* --- patterns ---------------------------------------------------------------------- */

/* Of a mulsum multiplied in the type: once, twice, once, twice ... */
static void contribution(const struct pattern *p, char *ret)
{
	static char twos[COUNT * 8];

	pattern_values(p, COUNT, ret);
	for (size_t i = 0; i < COUNT; i++)
		dtype_put(p->type, twos, i, 2);
	if (p->op == OP_MULSUM && p->rank % 2)
		reduce_find_in(REDUCE_PLAIN, p->type, OP_PROD)(ret, ret, twos, COUNT);
}

static bool varies(const struct pattern *p, const char *values)
{
	size_t size = dtype_size(p->type);
	bool differ = false;

	for (size_t i = size; i < COUNT * size; i++)
		differ |= values[i] != values[i - size];
	return differ;
}

/* Adding up in the type, in either direction, gives the promised bits. */
static void is_exact(struct pattern p)
{
	static char sum[COUNT * 8], back[COUNT * 8], one[COUNT * 8], want[COUNT * 8];
	reduce_fn *fn = reduce_find_in(REDUCE_PLAIN, p.type, p.op);
	bool differ;

	p.rank = 0;
	pattern_values(&p, COUNT, sum); /* rank 0's count once */
	differ = varies(&p, sum);
	for (p.rank = 1; p.rank < p.ranks; p.rank++) {
		contribution(&p, one);
		differ |= varies(&p, one);
		fn(sum, sum, one, COUNT);
	}
	p.rank = p.ranks - 1;
	contribution(&p, back);
	while (--p.rank >= 0) {
		contribution(&p, one);
		fn(back, one, back, COUNT);
	}
	if (p.op == OP_AVG) {
		reduce_divide(p.type, sum, COUNT, (unsigned)p.ranks);
		reduce_divide(p.type, back, COUNT, (unsigned)p.ranks);
	}
	p.rank = -1;
	pattern_values(&p, COUNT, want);
	assert_true(differ);
	assert_memory_equal(sum, want, COUNT * dtype_size(p.type));
	assert_memory_equal(back, want, COUNT * dtype_size(p.type));
	/* a whole number divided by more ranks than it can count is zero */
	assert_true(varies(&p, want) || (p.op == OP_AVG && p.ranks > 127 && p.type <= DT_UINT8));
}

static void patterns_are_exact(void **state)
{
	static const int many[] = {24, 40, 72, 100, 200, 300, 520};

	(void)state;
	for (enum dtype t = 0; t < DT_COUNT; t++)
		for (enum redop op = 0; op < OP_COUNT; op++)
			for (int ranks = 1; ranks <= 16; ranks++)
				is_exact((struct pattern){
					.type = t, .op = op, .ranks = ranks, .seed = 3});
	for (enum dtype t = 0; t < DT_COUNT; t++)
		for (size_t i = 0; i < ARRAY_LEN(many); i++)
			is_exact((struct pattern){
				.type = t, .op = OP_AVG, .ranks = many[i], .seed = 3});
}

/* So far from zero that an average which is near to it, as NCCL's are, is not also near to that. */
static void averages_of_many_are_not_zero(void **state)
{
	static const int many[] = {9, 16, 24, 72, 200};
	uint8_t v[COUNT];
	float x;

	(void)state;
	for (enum dtype t = DT_F8E4M3; t <= DT_F8E5M2; t++)
		for (size_t i = 0; i < ARRAY_LEN(many); i++) {
			struct pattern p = {
				.type = t, .op = OP_AVG, .ranks = many[i], .rank = -1, .seed = 3};

			if (t == DT_F8E4M3 && many[i] <= 16)
				continue;
			pattern_values(&p, COUNT, v);
			for (size_t k = 0; k < COUNT; k++) {
				x = t == DT_F8E4M3 ? f8e4m3_to_float(v[k]) : f8e5m2_to_float(v[k]);
				assert_true(fabsf(x) >= 1.5F && fabsf(x) <= 2.5F);
			}
		}
}

static void wrong_elements_are_counted(void **state)
{
	enum { N = PATTERN_PERIOD * 2 + 77, FROM = 8000 };
	static float buffer[N];
	const struct pattern p = {
		.type = DT_FLOAT, .op = OP_SUM, .ranks = 3, .rank = -1, .seed = 9};
	struct pattern other = p;

	(void)state;
	dev_host.fill(&dev_host, buffer, &p, FROM, N);
	assert_int_equal(dev_host.wrong(&dev_host, buffer, &p, FROM, N), 0);
	assert_int_equal(dev_host.wrong(&dev_host, buffer + 5, &p, FROM + 5, N - 5), 0);
	/* shifted by anything but the period, nearly all differs */
	assert_true(dev_host.wrong(&dev_host, buffer, &p, FROM + 1, N) > N / 2);
	assert_true(dev_host.wrong(&dev_host, buffer, &p, FROM + 4096, N) > N / 2);
	other.seed = 10;
	assert_true(dev_host.wrong(&dev_host, buffer, &other, FROM, N) > N / 2);
	buffer[0] = -buffer[0] - 1;
	buffer[N - 1] += 1;
	buffer[PATTERN_PERIOD] = NAN;
	assert_int_equal(dev_host.wrong(&dev_host, buffer, &p, FROM, N), 3);
}

static void names_are_found(void **state)
{
	enum dtype t;
	enum redop op;

	(void)state;
	for (enum dtype i = 0; i < DT_COUNT; i++) {
		assert_int_equal(dtype_find(dtype_name(i), &t), 0);
		assert_int_equal(t, i);
	}
	assert_int_equal(dtype_find("fp16", &t), 0);
	assert_int_equal(t, DT_HALF);
	assert_int_equal(dtype_find("float8_e5m2", &t), 0);
	assert_int_equal(t, DT_F8E5M2);
	assert_int_equal(dtype_find("float128", &t), -1);
	assert_int_equal(redop_find("avg", &op), 0);
	assert_int_equal(op, OP_AVG);
	assert_int_equal(redop_find("mulsum", &op), 0);
	assert_int_equal(op, OP_MULSUM);
	assert_int_equal(redop_find("all", &op), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves_convert),
		cmocka_unit_test(bfloats_convert),
		cmocka_unit_test(floats_of_8_bits_convert),
		cmocka_unit_test(loops_are_right),
		cmocka_unit_test(instruction_sets_agree),
		cmocka_unit_test(averages_divide),
		cmocka_unit_test(patterns_are_exact),
		cmocka_unit_test(averages_of_many_are_not_zero),
		cmocka_unit_test(wrong_elements_are_counted),
		cmocka_unit_test(names_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
