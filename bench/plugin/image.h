#ifndef BENCH_PLUGIN_IMAGE_H
#define BENCH_PLUGIN_IMAGE_H
/*
 * Kernels as nvcc made them, inside this file. FILE.fatbin has code for the GPUs that
 * nvcc knows and PTX for those to come. FILE.ptx is the same in an early version of PTX,
 * for what came before: GPUs that nvcc makes no code for any more, and drivers that are
 * older than it and refuse what it made.
 *
 *	IMAGE(windsock_kernels, KERNELS) ... r = image_load(load, &module,
 *IMAGE_OF(windsock_kernels));
 *
 * @load is cuModuleLoadData(), behind a function of one's own where that is bound late.
 */
#include <cuda.h>

#define IMAGE(name, file)                                                                          \
	__asm__(".section .rodata\n"                                                               \
		".balign 16\n"                                                                     \
		".globl " #name "_code, " #name "_text\n"                                          \
		".hidden " #name "_code, " #name "_text\n" #name "_code: .incbin \"" file          \
		".fatbin\"\n"                                                                      \
		".balign 16\n" #name "_text: .incbin \"" file ".ptx\"\n"                           \
		".byte 0\n"                                                                        \
		".previous\n");                                                                    \
	extern const char name##_code[], name##_text[];
#define IMAGE_OF(name) name##_code, name##_text

static inline CUresult image_load(CUresult (*load)(CUmodule *, const void *), CUmodule *ret,
				  const char *code, const char *text)
{
	CUresult r = load(ret, code), text_r;

	switch (r) {
	case CUDA_ERROR_INVALID_IMAGE:
	case CUDA_ERROR_NO_BINARY_FOR_GPU:
	case CUDA_ERROR_INVALID_PTX:
	case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
	case CUDA_ERROR_INVALID_SOURCE:
	case CUDA_ERROR_NOT_SUPPORTED:
		text_r = load(ret, text);
		/* a part of the driver, which a container may lack */
		return text_r == CUDA_SUCCESS || text_r == CUDA_ERROR_JIT_COMPILER_NOT_FOUND
			       ? text_r
			       : r;
	default:
		return r;
	}
}

#endif
