#include "bench/train/kernels.h"

/* -O2 leaves small loops as loops: accumulators would live in memory. */
#ifndef __clang__
#define FAST __attribute__((optimize("O3")))
#define UNROLL _Pragma("GCC unroll 16")
#define VECTORIZE _Pragma("GCC ivdep")
#else
#define FAST
#if __has_feature(address_sanitizer) /* what it adds is in the way */
#define UNROLL
#define VECTORIZE
#else
#define UNROLL _Pragma("unroll")
#define VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#endif
#endif

/* WIDTH: columns of a convolution at once, GROUP: output channels, as registers allow */
#define SET plain
#define NUMBER KERNELS_PLAIN
#define TARGET FAST
#define LANES 4
#define WIDTH 4
#define GROUP 2
#include "bench/train/kernels_loops.h"

#ifdef __x86_64__
#define SET avx2
#define NUMBER KERNELS_AVX2
#define TARGET FAST __attribute__((target("avx2,fma")))
#define LANES 8
#define WIDTH 4
#define GROUP 2
#include "bench/train/kernels_loops.h"

#define SET avx512
#define NUMBER KERNELS_AVX512
#define TARGET FAST __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#define LANES 16
#define WIDTH 8
#define GROUP 5
#include "bench/train/kernels_loops.h"
#endif

const struct kernels *kernels_of(enum kernel_set set)
{
#ifdef __x86_64__
	if (set == KERNELS_AVX512)
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
				       __builtin_cpu_supports("avx512dq") &&
				       __builtin_cpu_supports("avx512vl")
			       ? &avx512_kernels
			       : NULL;
	if (set == KERNELS_AVX2)
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
			       ? &avx2_kernels
			       : NULL;
#endif
	return set == KERNELS_PLAIN ? &plain_kernels : NULL;
}

const struct kernels *kernels_best(void)
{
	const struct kernels *k = NULL;

	for (int set = KERNEL_SETS - 1; !k; set--)
		k = kernels_of((enum kernel_set)set);
	return k;
}
