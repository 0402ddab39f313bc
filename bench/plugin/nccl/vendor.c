#include "bench/plugin/nccl/vendor.h"

#include "bench/plugin/library.h"

#include <dlfcn.h>

enum { OLDEST = 21400 }; /* the first with communicators that do not block */

static const char *const nccl_needs[] = {
	"ncclGetVersion",
	"ncclGetUniqueId",
	"ncclCommInitRankConfig",
	"ncclCommGetAsyncError",
	"ncclCommFinalize",
	"ncclCommAbort",
	"ncclCommDestroy",
	"ncclGetErrorString",
	"ncclGetLastError",
	"ncclAllReduce",
	"ncclReduce",
	"ncclBroadcast",
	"ncclAllGather",
	"ncclReduceScatter",
	"ncclSend",
	"ncclRecv",
	"ncclGroupStart",
	"ncclGroupEnd",
};
static const char *const cuda_needs[] = {
	"cuInit",
	"cuDriverGetVersion",
	"cuDeviceGetCount",
	"cuDeviceGet",
	"cuDeviceGetName",
	"cuDeviceGetUuid_v2",
	"cuDeviceGetAttribute",
	"cuDevicePrimaryCtxRetain",
	"cuCtxSetCurrent",
	"cuMemAlloc_v2",
	"cuMemFree_v2",
	"cuMemGetInfo_v2",
	"cuMemcpyHtoDAsync_v2",
	"cuMemcpyDtoHAsync_v2",
	"cuMemsetD8Async",
	"cuModuleLoadData",
	"cuModuleGetFunction",
	"cuLaunchKernel",
	"cuStreamCreate",
	"cuStreamQuery",
	"cuStreamDestroy_v2",
	"cuEventCreate",
	"cuEventRecord",
	"cuEventQuery",
	"cuEventElapsedTime",
	"cuEventDestroy_v2",
	"cuGetErrorString",
};

static int needs(void *so, const char *const *names, size_t n, const char *what, struct err *e)
{
	const char *lacks = library_lacks(so, names, n);

	if (!lacks)
		return 0;
	err_set(e, ERR_ABSENT, "%s has no %s", what, lacks);
	return err_hint(e, "it is too old or damaged: NCCL 2.14 and a driver of its time are the "
			   "least");
}

static void *open_global(const char *path) { return dlopen(path, RTLD_LAZY | RTLD_GLOBAL); }

static void *open_nccl(const char *given, struct err *e)
{
	const char *set = getenv("WINDSOCK_NCCL");
	char why[256] = "";
	void *so;

	given = given && *given ? given : set && *set ? set : NULL;
	so = open_global(given ? given : "libnccl.so.2");
	if (!so) {
		const char *text = dlerror();

		(void)snprintf(why, sizeof(why), "%s", text ? text : "");
	}
	if (!so && !given)
		so = library_of_python("nvidia/nccl/lib", "libnccl.so.2");
	if (!so && !given)
		so = library_of_cuda("libnccl.so.2");
	if (so)
		return so;
	err_set(e, ERR_ABSENT, "cannot load NCCL: %s", why);
	err_hint(e, "looked at --nccl, WINDSOCK_NCCL, the loader's path, the active Python's "
		    "nvidia/nccl/lib and CUDA's lib64; apt-get install libnccl2, or pip install "
		    "nvidia-nccl-cu12");
	return NULL;
}

int vendor_find_nccl(const char *given, struct vendor *ret, struct err *e)
{
	void *so = open_nccl(given, e);
	char text[32];

	*ret = (struct vendor){0};
	if (!so)
		return -1;
	library_path(so, "ncclGetVersion", "libnccl.so.2", ret->nccl_path, sizeof(ret->nccl_path));
	if (needs(so, nccl_needs, ARRAY_LEN(nccl_needs), ret->nccl_path, e))
		return -1;
	if (ncclGetVersion(&ret->nccl) != ncclSuccess)
		return err_set(e, ERR_ABSENT, "%s does not tell its version", ret->nccl_path);
	vendor_version(ret->nccl, text, sizeof(text));
	if (ret->nccl >= OLDEST)
		return 0;
	err_set(e, ERR_ABSENT, "%s is NCCL %s: too old", ret->nccl_path, text);
	return err_hint(e, "2.14 is the first whose ranks can be waited for with a deadline");
}

int vendor_load(const char *given, struct vendor *ret, struct err *e)
{
	void *so;
	CUresult r;

	if (vendor_find_nccl(given, ret, e))
		return -1;
	so = open_global("libcuda.so.1");
	if (!so) {
		err_set(e, ERR_ABSENT,
			"there is no NVIDIA driver here (libcuda.so.1 cannot be "
			"loaded); NCCL itself is: %s",
			ret->nccl_path);
		return err_hint(e, "install the driver, in a container: docker run --gpus all; "
				   "--backend tcp does without");
	}
	if (needs(so, cuda_needs, ARRAY_LEN(cuda_needs), "libcuda.so.1", e))
		return -1;
	r = cuInit(0);
	if (r != CUDA_SUCCESS) {
		err_set(e, ERR_ABSENT, "the NVIDIA driver does not start: %s", cuda_words(r));
		return err_hint(e, "nvidia-smi says more");
	}
	(void)cuDriverGetVersion(&ret->driver);
	if (cuDeviceGetCount(&ret->gpus) == CUDA_SUCCESS && ret->gpus > 0)
		return 0;
	err_set(e, ERR_ABSENT, "the NVIDIA driver shows no GPU");
	return err_hint(e, "is CUDA_VISIBLE_DEVICES empty?");
}

void vendor_version(int code, char *ret, size_t n)
{
	int unit = code >= 10000 ? 10000 : 1000; /* before 2.9: 2803 */

	(void)snprintf(ret, n, "%d.%d.%d", code / unit, code / 100 % (unit / 100), code % 100);
}

void vendor_describe(const struct vendor *v, char *ret, size_t n)
{
	char nccl[32];

	vendor_version(v->nccl, nccl, sizeof(nccl));
	(void)snprintf(ret, n, "NCCL %s (%s), CUDA driver %d.%d, %d GPU%s", nccl, v->nccl_path,
		       v->driver / 1000, v->driver / 10 % 100, v->gpus, v->gpus == 1 ? "" : "s");
}

const char *cuda_words(CUresult r)
{
	const char *text = NULL;

	return cuGetErrorString(r, &text) == CUDA_SUCCESS && text ? text : "unknown CUDA error";
}

int cuda_failed(const char *what, CUresult r, struct err *e)
{
	return err_set(e, ERR_SYS, "%s: %s", what, cuda_words(r));
}
