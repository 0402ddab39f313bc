#include "bench/comm/reduce.h"

/* -O2 leaves loops of unknown length scalar; and dst may be x, which is no dependency. */
#ifdef __clang__
#define VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#define FAST
#else
#define VECTORIZE _Pragma("GCC ivdep")
#define FAST __attribute__((optimize("O3")))
#endif

#define TARGET FAST
#define NAME(name) plain_##name
#include "bench/comm/reduce_loops.h"

#ifdef __x86_64__
#define TARGET FAST __attribute__((target("avx2")))
#define NAME(name) avx2_##name
#include "bench/comm/reduce_loops.h"

#define TARGET FAST __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define NAME(name) avx512_##name
#include "bench/comm/reduce_loops.h"
#endif

reduce_fn *reduce_find_in(enum reduce_set set, enum dtype t, enum redop op)
{
	if (op == OP_AVG || op == OP_MULSUM)
		op = OP_SUM;
#ifdef __x86_64__
	if (set == REDUCE_AVX512)
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
				       __builtin_cpu_supports("avx512dq") &&
				       __builtin_cpu_supports("avx512vl")
			       ? avx512_table[op][t]
			       : NULL;
	if (set == REDUCE_AVX2)
		return __builtin_cpu_supports("avx2") ? avx2_table[op][t] : NULL;
#endif
	return set == REDUCE_PLAIN ? plain_table[op][t] : NULL;
}

reduce_fn *reduce_find(enum dtype t, enum redop op)
{
	reduce_fn *fn = NULL;

	for (int set = REDUCE_SETS - 1; !fn; set--)
		fn = reduce_find_in((enum reduce_set)set, t, op);
	return fn;
}

#define DIVIDE(type)                                                                               \
	for (size_t i = 0; i < n; i++)                                                             \
	((type *)dst)[i] = (type)(((type *)dst)[i] / (type)by)
#define DIVIDE_SMALL(type, to, from)                                                               \
	for (size_t i = 0; i < n; i++)                                                             \
	((type *)dst)[i] = from(to(((type *)dst)[i]) / (float)by)

FAST void reduce_divide(enum dtype t, void *dst, size_t n, unsigned by)
{
	switch (t) {
	case DT_INT8:
		/* in int, or 200 ranks would be a negative number of them */
		for (size_t i = 0; i < n; i++)
			((int8_t *)dst)[i] = (int8_t)(((int8_t *)dst)[i] / (int)by);
		break;
	case DT_UINT8:
		for (size_t i = 0; i < n; i++)
			((uint8_t *)dst)[i] = (uint8_t)(((uint8_t *)dst)[i] / by);
		break;
	case DT_INT32:
		DIVIDE(int32_t);
		break;
	case DT_UINT32:
		DIVIDE(uint32_t);
		break;
	case DT_INT64:
		DIVIDE(int64_t);
		break;
	case DT_UINT64:
		DIVIDE(uint64_t);
		break;
	case DT_FLOAT:
		DIVIDE(float);
		break;
	case DT_DOUBLE:
		DIVIDE(double);
		break;
	case DT_HALF:
		DIVIDE_SMALL(uint16_t, half_to_float, float_to_half);
		break;
	case DT_BFLOAT16:
		DIVIDE_SMALL(uint16_t, bf16_to_float, float_to_bf16);
		break;
	case DT_F8E4M3:
		DIVIDE_SMALL(uint8_t, f8e4m3_to_float, float_to_f8e4m3);
		break;
	case DT_F8E5M2:
		DIVIDE_SMALL(uint8_t, f8e5m2_to_float, float_to_f8e5m2);
		break;
	case DT_COUNT:
		break;
	}
}
