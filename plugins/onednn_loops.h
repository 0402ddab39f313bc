#ifndef PLUGINS_ONEDNN_LOOPS_H
#define PLUGINS_ONEDNN_LOOPS_H
/*
 * What oneDNN has no primitive for, or none that does it in one go: element by element,
 * so the results do not depend on how many are done at a time. Arrays begin on 64 bytes,
 * and have room for a multiple of that.
 */
#include "lib/core/base.h"

typedef float loops_v __attribute__((vector_size(32), may_alias));
typedef int32_t loops_i __attribute__((vector_size(32), may_alias));
enum { LOOPS_LANES = 8 };
#define LOOPS_INLINE static inline __attribute__((always_inline))
#ifdef __x86_64__
#define LOOPS_WIDE __attribute__((target("avx2")))
#define LOOPS_CAN __builtin_cpu_supports("avx2")
#else
#define LOOPS_WIDE
#define LOOPS_CAN true
#endif

/* @name is called with vectors of whatever width the processor has. */
#define LOOPS(name, params, args)                                                                  \
	LOOPS_WIDE static void name##_wide params { name##_all args; }                             \
	static void name params                                                                    \
	{                                                                                          \
		if (LOOPS_CAN)                                                                     \
			name##_wide args;                                                          \
		else                                                                               \
			name##_all args;                                                           \
	}

static inline size_t loops_count(size_t n) { return (n + LOOPS_LANES - 1) / LOOPS_LANES; }

/* to = a + b, with @relu what is above 0 of it, or not a number */
LOOPS_INLINE void sum_all(float *to_, const float *a_, const float *b_, size_t n, bool relu)
{
	const loops_v *a = (const loops_v *)a_, *b = (const loops_v *)b_;
	loops_v *to = (loops_v *)to_;

	for (size_t i = 0; i < loops_count(n); i++) {
		loops_v sum = a[i] + b[i];
		loops_i keep = ~(loops_i)(sum <= 0) | -(int32_t)!relu;

		to[i] = (loops_v)((loops_i)sum & keep);
	}
}
LOOPS(sum, (float *to, const float *a, const float *b, size_t n, bool relu), (to, a, b, n, relu))

/* to = and = d, with @relu 0 where @out is: the gradient of a sum, for both that were added */
LOOPS_INLINE void share_all(float *to_, float *and_, const float *d_, const float *out_, size_t n,
			    bool relu)
{
	const loops_v *d = (const loops_v *)d_, *out = (const loops_v *)out_;
	loops_v *to = (loops_v *)to_, *and = (loops_v *)and_;

	for (size_t i = 0; i < loops_count(n); i++) {
		loops_i keep = ~(loops_i)(out[i] <= 0) | -(int32_t)!relu;

		to[i] = and[i] = (loops_v)((loops_i)d[i] & keep);
	}
}
LOOPS(share, (float *to, float *and, const float *d, const float *out, size_t n, bool relu),
      (to, and, d, out, n, relu))

/* to += d */
LOOPS_INLINE void add_all(float *to_, const float *d_, size_t n)
{
	const loops_v *d = (const loops_v *)d_;
	loops_v *to = (loops_v *)to_;

	for (size_t i = 0; i < loops_count(n); i++)
		to[i] += d[i];
}
LOOPS(add, (float *to, const float *d, size_t n), (to, d, n))

#endif
