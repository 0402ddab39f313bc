#include "plugins/burst/driver.h"

#include "bench/plugin/library.h"

#include <dlfcn.h>

int driver_load(struct driver *d, struct err *e)
{
	void *so = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_GLOBAL);

	if (!so) {
		err_set(e, ERR_ABSENT, "cannot load the NVIDIA driver's libcuda.so.1");
		return err_hint(
			e, "install NVIDIA's driver, or give the container the GPUs: docker run "
			   "--gpus all ...");
	}
#define DRIVER_LOAD(field, type, symbol)                                                           \
	if (!(*(void **)&d->field = dlsym(so, symbol)))                                            \
		return err_set(e, ERR_ABSENT, "libcuda.so.1 has no %s: it is too old", symbol);
	DRIVER_FUNCTIONS(DRIVER_LOAD)
#undef DRIVER_LOAD
	return 0;
}

/* Of the newest CUDA that this driver serves: one that is newer would not start. */
static void *open_blas(int cuda)
{
	static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
					    NULL};
	const char *set = getenv("WINDSOCK_CUBLAS");
	const struct library_want want = {set,
					  names + (cuda >= 13000 || cuda <= 0 ? 0
						   : cuda >= 12000	      ? 1
									      : 2),
					  library_blas_packages};
	char why[LIBRARY_WHY];

	return set && streq(set, "none") ? NULL : library_open(&want, why);
}

bool blas_load(struct blas *b, int cuda)
{
	void *so = open_blas(cuda);

	if (!so)
		return false;
	*(void **)&b->create = dlsym(so, "cublasCreate_v2");
	*(void **)&b->destroy = dlsym(so, "cublasDestroy_v2");
	*(void **)&b->set_stream = dlsym(so, "cublasSetStream_v2");
	*(void **)&b->product = dlsym(so, "cublasGemmEx");
	return b->create && b->destroy && b->set_stream && b->product;
}

/* Of cublas_api.h and library_types.h, the same from CUDA 11 to 13. */
enum { OP_N = 0, TYPE_FP32 = 0, TYPE_FP16 = 2, TYPE_BF16 = 14, COMPUTE_FP32 = 68, ALGORITHM = -1 };

int blas_product(const struct blas *b, void *handle, CUdeviceptr x, CUdeviceptr y, CUdeviceptr z,
		 int n, bool bf16)
{
	static const float one = 1, zero = 0;
	int type = bf16 ? TYPE_BF16 : TYPE_FP16;

	return b->product(handle, OP_N, OP_N, n, n, n, &one, (const void *)(uintptr_t)x, type, n,
			  (const void *)(uintptr_t)y, type, n, &zero, (void *)(uintptr_t)z,
			  TYPE_FP32, n, COMPUTE_FP32, ALGORITHM);
}
