#include "plugins/burst/driver.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>

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

/* pip's packages keep it beside Python. */
static void *open_pythons(void)
{
	const char *roots[] = {getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX"), "/usr/local", "/usr"};
	void *so = NULL;

	for (size_t i = 0; i < ARRAY_LEN(roots) && !so; i++) {
		static const char *const parts[] = {"nvidia/cu13/lib/libcublas.so.13",
						    "nvidia/cublas/lib/libcublas.so.12"};

		for (size_t k = 0; k < ARRAY_LEN(parts) && roots[i] && *roots[i] && !so; k++) {
			char pattern[PATH_MAX];
			glob_t found;

			(void)snprintf(pattern, sizeof(pattern), "%s/lib/python3*/*-packages/%s",
				       roots[i], parts[k]);
			if (!glob(pattern, 0, NULL, &found) && found.gl_pathc)
				so = dlopen(found.gl_pathv[0], RTLD_LAZY | RTLD_LOCAL);
			globfree(&found);
		}
	}
	return so;
}

static void *open_blas(void)
{
	static const char *const names[] = {"libcublas.so.13", "libcublas.so.12",
					    "libcublas.so.11"};
	const char *set = getenv("WINDSOCK_CUBLAS");
	void *so = NULL;

	if (set && *set)
		return strcmp(set, "none") ? dlopen(set, RTLD_LAZY | RTLD_LOCAL) : NULL;
	for (size_t i = 0; i < ARRAY_LEN(names) && !so; i++)
		so = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
	return so ? so : open_pythons();
}

bool blas_load(struct blas *b)
{
	void *so = open_blas();

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
