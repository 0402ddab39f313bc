#include "bench/plugin/library.h"
#include "plugins/cudnn/gpu.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>

enum { OLDEST = 90000 };

static const char *const driver_needs[] = {
	"cuDeviceGet",	   "cuDeviceGetName",  "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain",
	"cuCtxSetCurrent", "cuMemAlloc_v2",    "cuMemFree_v2",	       "cuMemHostAlloc",
	"cuMemFreeHost",   "cuMemGetInfo_v2",  "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
	"cuMemsetD8Async", "cuModuleLoadData", "cuModuleGetFunction",  "cuLaunchKernel",
	"cuStreamCreate",  "cuStreamQuery",    "cuStreamWaitEvent",    "cuEventCreate",
	"cuEventRecord",   "cuEventQuery",     "cuEventDestroy_v2",
};
static const char *const cudnn_needs[] = {
	"cudnnGetVersion",
	"cudnnGetCudartVersion",
	"cudnnGetErrorString",
	"cudnnGetLastErrorString",
	"cudnnCreate",
	"cudnnSetStream",
	"cudnnCreateTensorDescriptor",
	"cudnnSetTensor4dDescriptor",
	"cudnnDestroyTensorDescriptor",
	"cudnnCreateFilterDescriptor",
	"cudnnSetFilter4dDescriptor",
	"cudnnDestroyFilterDescriptor",
	"cudnnCreateConvolutionDescriptor",
	"cudnnSetConvolution2dDescriptor",
	"cudnnSetConvolutionMathType",
	"cudnnDestroyConvolutionDescriptor",
	"cudnnGetConvolutionForwardAlgorithm_v7",
	"cudnnGetConvolutionBackwardDataAlgorithm_v7",
	"cudnnGetConvolutionBackwardFilterAlgorithm_v7",
	"cudnnGetConvolutionForwardWorkspaceSize",
	"cudnnGetConvolutionBackwardDataWorkspaceSize",
	"cudnnGetConvolutionBackwardFilterWorkspaceSize",
	"cudnnConvolutionForward",
	"cudnnConvolutionBackwardData",
	"cudnnConvolutionBackwardFilter",
};
static const char *const cublas_needs[] = {
	"cublasCreate_v2",     "cublasSetStream_v2",	"cublasSetWorkspace_v2",
	"cublasSetMathMode",   "cublasSetAtomicsMode",	"cublasGemmEx",
	"cublasGetVersion_v2", "cublasGetStatusString",
};

static const char least[] = "cuDNN 9 and a driver of its time";

static int load_cudnn(struct libraries *ret, struct err *e)
{
	static const char *const names[] = {"libcudnn.so.9", NULL};
	static const char *const packages[] = {"nvidia/cudnn/lib", NULL};
	const struct library_want want = {getenv("WINDSOCK_CUDNN"), names, packages};
	char why[LIBRARY_WHY];
	void *so = library_open(&want, why);

	if (!so) {
		err_set(e, ERR_ABSENT, "cannot load cuDNN: %s", why);
		return err_command(
			e,
			"pip install nvidia-cudnn-cu13   # cu12 for an older driver; or: apt-get "
			"install libcudnn9-cuda-13. Looked at WINDSOCK_CUDNN, " LIBRARY_PLACES);
	}
	library_path("cudnnGetVersion", names[0], ret->cudnn_path, sizeof(ret->cudnn_path));
	if (library_needs(so, cudnn_needs, ARRAY_LEN(cudnn_needs), ret->cudnn_path, least, e))
		return -1;
	ret->cudnn = (int)cudnnGetVersion();
	if (ret->cudnn >= OLDEST)
		return 0;
	err_set(e, ERR_ABSENT, "%s is cuDNN %d.%d: too old", ret->cudnn_path, ret->cudnn / 1000,
		ret->cudnn / 100 % 10);
	return err_hint(e, "cuDNN 9 is the first that this engine can call");
}

/*
 * Found first, so that cuBLAS and cuDNN meet it under its name: beside a cuBLAS that was
 * named, else where cuBLAS will be found. The two have to be of one version.
 */
static void load_cublas_lt(const char *cublas, const char *name)
{
	const char *const names[] = {name, NULL};
	char beside[PATH_MAX], why[LIBRARY_WHY];
	const struct library_want want = {beside, names, library_blas_packages};

	library_beside(cublas, name, beside, sizeof(beside));
	(void)library_open(&want, why);
}

/* That of cuDNN's CUDA: both are loaded into one process. */
static int load_cublas(int cuda, struct libraries *ret, struct err *e)
{
	char lt[32], file[32], why[LIBRARY_WHY];
	const char *const names[] = {file, NULL};
	const struct library_want want = {getenv("WINDSOCK_CUBLAS"), names, library_blas_packages};
	void *so;

	(void)snprintf(lt, sizeof(lt), "libcublasLt.so.%d", cuda);
	(void)snprintf(file, sizeof(file), "libcublas.so.%d", cuda);
	load_cublas_lt(want.given, lt);
	so = library_open(&want, why);
	if (!so) {
		err_set(e, ERR_ABSENT, "cannot load cuBLAS for CUDA %d, as this cuDNN needs: %s",
			cuda, why);
		return err_hint(e,
				"looked at WINDSOCK_CUBLAS, " LIBRARY_PLACES
				"; apt-get install libcublas-%d-0, or pip install nvidia-cublas%s",
				cuda, cuda < 13 ? "-cu12" : "");
	}
	library_path("cublasGemmEx", file, ret->cublas_path, sizeof(ret->cublas_path));
	return library_needs(so, cublas_needs, ARRAY_LEN(cublas_needs), ret->cublas_path, least, e);
}

/* NVRTC's other half, which it looks for by a name that has its minor version, too. */
static void load_builtins(void)
{
	char folder[PATH_MAX], path[PATH_MAX];
	char *name;
	struct dirent *entry;
	DIR *d;

	library_path("nvrtcVersion", "", folder, sizeof(folder));
	name = strrchr(folder, '/');
	if (!name)
		return;
	*name = '\0';
	d = opendir(folder);
	while (d && (entry = readdir(d)))
		if (starts_with(entry->d_name, "libnvrtc-builtins.so.") &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) <
			    sizeof(path))
			(void)dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
	if (d)
		(void)closedir(d);
}

void libraries_load_compiler(const struct libraries *l)
{
	char file[32], why[LIBRARY_WHY];
	const char *const names[] = {file, NULL};
	static const char *const packages[] = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", NULL};
	const struct library_want want = {NULL, names, packages};
	static bool is_done;
	void *so;

	if (is_done)
		return;
	is_done = true;
	(void)snprintf(file, sizeof(file), "libnvrtc.so.%d", l->cuda);
	so = library_open(&want, why);
	if (so)
		load_builtins();
}

static int load_driver(struct libraries *ret, struct err *e)
{
	char found[sizeof(ret->cudnn_path) + 32];
	const struct driver_want want = {driver_needs, ARRAY_LEN(driver_needs), found, NULL, least};

	(void)snprintf(found, sizeof(found), "cuDNN itself is: %s", ret->cudnn_path);
	return driver_start(&want, &ret->driver, e);
}

int libraries_load(struct libraries *ret, struct err *e)
{
	int knows;

	*ret = (struct libraries){0};
	if (load_cudnn(ret, e) || load_driver(ret, e))
		return -1;
	knows = ret->driver.version / 1000;
	ret->cuda = (int)cudnnGetCudartVersion() / 1000;
	if (ret->cuda <= knows)
		return load_cublas(ret->cuda, ret, e);
	err_set(e, ERR_ABSENT, "%s is made for CUDA %d, this driver knows CUDA %d.%d at most",
		ret->cudnn_path, ret->cuda, knows, ret->driver.version / 10 % 100);
	return err_hint(e,
			"install a newer driver, or pip install nvidia-cudnn-cu%d and name it: "
			"WINDSOCK_CUDNN=FILE",
			knows);
}
