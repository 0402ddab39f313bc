#include "bench/plugin/library.h"
#include "plugins/cudnn/gpu.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>

enum { OLDEST = 90000 };

static const char *const driver_needs[] = {
	"cuInit",
	"cuDriverGetVersion",
	"cuDeviceGetCount",
	"cuDeviceGet",
	"cuDeviceGetName",
	"cuDeviceGetAttribute",
	"cuDevicePrimaryCtxRetain",
	"cuCtxSetCurrent",
	"cuMemAlloc_v2",
	"cuMemFree_v2",
	"cuMemHostAlloc",
	"cuMemFreeHost",
	"cuMemGetInfo_v2",
	"cuMemcpyHtoDAsync_v2",
	"cuMemcpyDtoHAsync_v2",
	"cuMemsetD8Async",
	"cuModuleLoadData",
	"cuModuleGetFunction",
	"cuLaunchKernel",
	"cuStreamCreate",
	"cuStreamQuery",
	"cuStreamWaitEvent",
	"cuEventCreate",
	"cuEventRecord",
	"cuEventQuery",
	"cuEventDestroy_v2",
	"cuGetErrorString",
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

static int needs(void *so, const char *const *names, size_t n, const char *what, struct err *e)
{
	const char *lacks = library_lacks(so, names, n);

	if (!lacks)
		return 0;
	err_set(e, ERR_ABSENT, "%s has no %s", what, lacks);
	return err_hint(e, "it is too old or damaged: cuDNN 9 and a driver of its time are the "
			   "least");
}

static int load_cudnn(struct libraries *ret, struct err *e)
{
	static const char *const names[] = {"libcudnn.so.9", NULL};
	static const char *const packages[] = {"nvidia/cudnn/lib", NULL};
	const struct library_want want = {getenv("WINDSOCK_CUDNN"), names, packages};
	char why[LIBRARY_WHY];
	void *so = library_open(&want, why);

	if (!so) {
		err_set(e, ERR_ABSENT, "cannot load cuDNN: %s", why);
		return err_hint(
			e, "looked at WINDSOCK_CUDNN, the loader's path, CUDA's lib64 and the "
			   "active Python's nvidia/cudnn/lib; apt-get install libcudnn9-cuda-13, "
			   "or pip install nvidia-cudnn-cu13 (cu12 for an older driver)");
	}
	library_path(so, "cudnnGetVersion", names[0], ret->cudnn_path, sizeof(ret->cudnn_path));
	if (needs(so, cudnn_needs, ARRAY_LEN(cudnn_needs), ret->cudnn_path, e))
		return -1;
	ret->cudnn = (int)cudnnGetVersion();
	if (ret->cudnn >= OLDEST)
		return 0;
	err_set(e, ERR_ABSENT, "%s is cuDNN %d.%d: too old", ret->cudnn_path, ret->cudnn / 1000,
		ret->cudnn / 100 % 10);
	return err_hint(e, "cuDNN 9 is the first that this engine can call");
}

/* That of cuDNN's CUDA: both are loaded into one process. */
static int load_cublas(int cuda, struct libraries *ret, struct err *e)
{
	char file[2][32], why[LIBRARY_WHY];
	const char *const lt[] = {file[0], NULL}, *const names[] = {file[1], NULL};
	static const char *const packages[] = {"nvidia/cu13/lib", "nvidia/cublas/lib", NULL};
	/* found first, so that cuBLAS and cuDNN meet it under its name */
	const struct library_want want_lt = {NULL, lt, packages};
	const struct library_want want = {getenv("WINDSOCK_CUBLAS"), names, packages};
	void *so;

	(void)snprintf(file[0], sizeof(file[0]), "libcublasLt.so.%d", cuda / 1000);
	(void)snprintf(file[1], sizeof(file[1]), "libcublas.so.%d", cuda / 1000);
	(void)library_open(&want_lt, why);
	so = library_open(&want, why);
	if (!so) {
		err_set(e, ERR_ABSENT, "cannot load cuBLAS for CUDA %d, as this cuDNN needs: %s",
			cuda / 1000, why);
		return err_hint(
			e,
			"looked at WINDSOCK_CUBLAS, the loader's path, CUDA's lib64 and the "
			"active Python's packages; apt-get install libcublas-%d-0, or "
			"pip install nvidia-cublas",
			cuda / 1000);
	}
	library_path(so, "cublasGemmEx", names[0], ret->cublas_path, sizeof(ret->cublas_path));
	return needs(so, cublas_needs, ARRAY_LEN(cublas_needs), ret->cublas_path, e);
}

/* NVRTC's other half, which it looks for by a name that has its minor version, too. */
static void load_builtins(void *nvrtc)
{
	char folder[PATH_MAX], path[PATH_MAX];
	char *name;
	struct dirent *entry;
	DIR *d;

	library_path(nvrtc, "nvrtcVersion", "", folder, sizeof(folder));
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
		load_builtins(so);
}

static int load_driver(struct libraries *ret, struct err *e)
{
	void *so = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_GLOBAL);
	const char *text = NULL;
	CUresult r;

	if (!so) {
		err_set(e, ERR_ABSENT,
			"there is no NVIDIA driver here (libcuda.so.1 cannot be loaded); cuDNN "
			"itself is: %s",
			ret->cudnn_path);
		return err_hint(e, "install the driver, in a container: docker run --gpus all; "
				   "--device cpu trains without a GPU");
	}
	if (needs(so, driver_needs, ARRAY_LEN(driver_needs), "libcuda.so.1", e))
		return -1;
	r = cuInit(0);
	if (r != CUDA_SUCCESS) {
		(void)cuGetErrorString(r, &text);
		err_set(e, ERR_ABSENT, "the NVIDIA driver does not start: %s",
			text ? text : "no reason given");
		return err_hint(e, "nvidia-smi says more");
	}
	(void)cuDriverGetVersion(&ret->driver);
	if (cuDeviceGetCount(&ret->gpus) == CUDA_SUCCESS && ret->gpus > 0)
		return 0;
	err_set(e, ERR_ABSENT, "the NVIDIA driver shows no GPU");
	return err_hint(e, "is CUDA_VISIBLE_DEVICES empty?");
}

int libraries_load(struct libraries *ret, struct err *e)
{
	int cuda;

	*ret = (struct libraries){0};
	if (load_cudnn(ret, e) || load_driver(ret, e))
		return -1;
	cuda = (int)cudnnGetCudartVersion();
	if (cuda / 1000 > ret->driver / 1000) {
		err_set(e, ERR_ABSENT,
			"%s is made for CUDA %d, this driver knows CUDA %d.%d at most",
			ret->cudnn_path, cuda / 1000, ret->driver / 1000, ret->driver / 10 % 100);
		return err_hint(
			e,
			"install a newer driver, or pip install nvidia-cudnn-cu%d and name it: "
			"WINDSOCK_CUDNN=FILE",
			ret->driver / 1000);
	}
	ret->cuda = cuda / 1000;
	return load_cublas(cuda, ret, e);
}
