/*
 * The loops of bench/comm/reduce.c, compiled once per instruction set: included
 * with TARGET (an attribute or nothing) and NAME(suffix-less name) defined, again
 * and again; the guard is of the macros alone.
 */
#ifndef BENCH_COMM_REDUCE_LOOPS_H
#define BENCH_COMM_REDUCE_LOOPS_H
#define LOOP(name, type, expr)                                                                     \
	TARGET static void NAME(name)(void *dst, const void *x_, const void *y_, size_t n)         \
	{                                                                                          \
		type *d = dst;                                                                     \
		const type *x = x_, *y = y_;                                                       \
                                                                                                   \
		VECTORIZE for (size_t i = 0; i < n; i++)                                           \
		{                                                                                  \
			type a = x[i], b = y[i];                                                   \
			d[i] = (type)(expr);                                                       \
		}                                                                                  \
	}
#define SMALL(name, type, to, from, expr)                                                          \
	TARGET static void NAME(name)(void *dst, const void *x_, const void *y_, size_t n)         \
	{                                                                                          \
		type *d = dst;                                                                     \
		const type *x = x_, *y = y_;                                                       \
                                                                                                   \
		VECTORIZE for (size_t i = 0; i < n; i++)                                           \
		{                                                                                  \
			float a = to(x[i]), b = to(y[i]);                                          \
			d[i] = from(expr);                                                         \
		}                                                                                  \
	}
#define HALVES(name, to, from, expr) SMALL(name, uint16_t, to, from, expr)
#define EIGHTHS(name, expr, format)                                                                \
	SMALL(name##_##format, uint8_t, format##_to_float, float_to_##format, expr)
#define MINMAX(name, type)                                                                         \
	LOOP(max_##name, type, a > b ? a : b) LOOP(min_##name, type, a < b ? a : b)
#endif

/* Whole numbers wrap around: signed ones are added and multiplied as unsigned. */
LOOP(sum_8, uint8_t, a + b)
LOOP(sum_32, uint32_t, a + b)
LOOP(sum_64, uint64_t, a + b)
LOOP(sum_f, float, a + b)
LOOP(sum_d, double, a + b)
HALVES(sum_h, half_to_float, float_to_half, a + b)
HALVES(sum_b, bf16_to_float, float_to_bf16, a + b)
LOOP(prod_8, uint8_t, a *b)
LOOP(prod_32, uint32_t, a *b)
LOOP(prod_64, uint64_t, a *b)
LOOP(prod_f, float, a *b)
LOOP(prod_d, double, a *b)
HALVES(prod_h, half_to_float, float_to_half, a *b)
HALVES(prod_b, bf16_to_float, float_to_bf16, a *b)
MINMAX(i8, int8_t)
MINMAX(u8, uint8_t)
MINMAX(i32, int32_t)
MINMAX(u32, uint32_t)
MINMAX(i64, int64_t)
MINMAX(u64, uint64_t)
MINMAX(f, float)
MINMAX(d, double)
HALVES(max_h, half_to_float, float_to_half, a > b ? a : b)
HALVES(min_h, half_to_float, float_to_half, a < b ? a : b)
HALVES(max_b, bf16_to_float, float_to_bf16, a > b ? a : b)
HALVES(min_b, bf16_to_float, float_to_bf16, a < b ? a : b)
EIGHTHS(sum, a + b, f8e4m3)
EIGHTHS(sum, a + b, f8e5m2)
EIGHTHS(prod, a *b, f8e4m3)
EIGHTHS(prod, a *b, f8e5m2)
EIGHTHS(max, a > b ? a : b, f8e4m3)
EIGHTHS(max, a > b ? a : b, f8e5m2)
EIGHTHS(min, a < b ? a : b, f8e4m3)
EIGHTHS(min, a < b ? a : b, f8e5m2)

static reduce_fn *const NAME(table)[OP_AVG][DT_COUNT] = {
	[OP_SUM] = {NAME(sum_8), NAME(sum_8), NAME(sum_32), NAME(sum_32), NAME(sum_64),
		    NAME(sum_64), NAME(sum_h), NAME(sum_f), NAME(sum_d), NAME(sum_b),
		    NAME(sum_f8e4m3), NAME(sum_f8e5m2)},
	[OP_PROD] = {NAME(prod_8), NAME(prod_8), NAME(prod_32), NAME(prod_32), NAME(prod_64),
		     NAME(prod_64), NAME(prod_h), NAME(prod_f), NAME(prod_d), NAME(prod_b),
		     NAME(prod_f8e4m3), NAME(prod_f8e5m2)},
	[OP_MAX] = {NAME(max_i8), NAME(max_u8), NAME(max_i32), NAME(max_u32), NAME(max_i64),
		    NAME(max_u64), NAME(max_h), NAME(max_f), NAME(max_d), NAME(max_b),
		    NAME(max_f8e4m3), NAME(max_f8e5m2)},
	[OP_MIN] = {NAME(min_i8), NAME(min_u8), NAME(min_i32), NAME(min_u32), NAME(min_i64),
		    NAME(min_u64), NAME(min_h), NAME(min_f), NAME(min_d), NAME(min_b),
		    NAME(min_f8e4m3), NAME(min_f8e5m2)},
};

#undef TARGET
#undef NAME
