#ifndef BENCH_PLUGIN_IMAGE_H
#define BENCH_PLUGIN_IMAGE_H
/*
 * Kernels as nvcc made them, inside this file. FILE.fatbin has code for the GPUs that
 * nvcc knows and PTX for those to come. FILE.ptx is the same in an early version of PTX,
 * for what came before: GPUs that nvcc makes no code for any more, and drivers that are
 * older than it and refuse what it made.
 *
 *	IMAGE(windsock_kernels, KERNELS)
 *	r = image_load(load, use, arg, &module, IMAGE_OF(windsock_kernels));
 *
 * @load is cuModuleLoadData(), behind a function of one's own where that is bound late. A driver
 * that loads lazily (its default since CUDA 12.2) may take what it cannot run, and say so when a
 * kernel is looked up, or launched first. So @use finds kernels in the module and launches one
 * over nothing: what fails there has not been loaded, either.
 */
#include <cuda.h>
#include <stdbool.h>

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

/* Is it said that the driver or the GPU cannot take the code? */
static inline bool image_is_foreign(CUresult r)
{
	switch (r) {
	case CUDA_ERROR_INVALID_IMAGE:
	case CUDA_ERROR_NO_BINARY_FOR_GPU:
	case CUDA_ERROR_INVALID_PTX:
	case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
	case CUDA_ERROR_INVALID_SOURCE:
	case CUDA_ERROR_NOT_FOUND: /* no kernel in a module that holds nothing for this GPU */
	case CUDA_ERROR_NOT_SUPPORTED:
		return true;
	default:
		return false;
	}
}

typedef CUresult image_load_fn(CUmodule *, const void *);
typedef CUresult image_use_fn(void *arg, CUmodule);

static inline CUresult image_try(image_load_fn *load, image_use_fn *use, void *arg, CUmodule *ret,
				 const char *image)
{
	CUresult r = load(ret, image);

	return r == CUDA_SUCCESS ? use(arg, *ret) : r;
}

/* Whatever was said of the code: an old driver has its own words for what is too young. */
static inline CUresult image_load(image_load_fn *load, image_use_fn *use, void *arg, CUmodule *ret,
				  const char *code, const char *text)
{
	CUresult r = image_try(load, use, arg, ret, code), text_r;

	if (r == CUDA_SUCCESS)
		return r;
	text_r = image_try(load, use, arg, ret, text);
	/* what reads text is a part of the driver, which a container may lack */
	if (text_r == CUDA_ERROR_JIT_COMPILER_NOT_FOUND && image_is_foreign(r))
		return text_r;
	return text_r == CUDA_SUCCESS ? text_r : r;
}

#endif
