#include "bench/plugin/cuda/driver.h"

#include "bench/dev/dev.h"
#include "bench/plugin/image.h"
#include "bench/plugin/library.h"
#include "lib/host/cuda_start.h"

#include <dlfcn.h>

static const char *const own_needs[] = {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount",
					"cuGetErrorString"};

static int no_driver(const struct driver_want *w, struct err *e)
{
	err_set(e, ERR_ABSENT, "there is no NVIDIA driver here (libcuda.so.1 cannot be loaded); %s",
		w->found);
	return err_hint(e, "install the driver, in a container: docker run --gpus all%s%s",
			w->without ? "; " : "", w->without ?: "");
}

static int load(const struct driver_want *w, struct err *e)
{
	void *so = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_GLOBAL);

	if (!so)
		return no_driver(w, e);
	return library_needs(so, own_needs, ARRAY_LEN(own_needs), "libcuda.so.1", w->least, e) ||
			       library_needs(so, w->needs, w->nneeds, "libcuda.so.1", w->least, e)
		       ? -1
		       : 0;
}

/* What the variable hides nvidia-smi still shows. */
static int no_gpu(struct err *e)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");

	err_set(e, ERR_ABSENT, "the NVIDIA driver shows no GPU");
	if (!visible)
		return err_hint(e, "nvidia-smi -L; in a container: docker run --gpus all");
	return err_hint(e,
			"CUDA_VISIBLE_DEVICES='%.100s' hides them, or names none that is here: "
			"nvidia-smi -L lists those",
			visible);
}

static int does_not_start(CUresult r, struct err *e)
{
	char fix[sizeof(e->hint)];

	err_set(e, ERR_ABSENT, "the NVIDIA driver does not start: %s", driver_words(r));
	cuda_start_fix((int)r, dlsym(RTLD_DEFAULT, "cuInit"), fix, sizeof(fix));
	return err_take_fix(e, fix);
}

int driver_start(const struct driver_want *w, struct driver *ret, struct err *e)
{
	CUresult r;

	*ret = (struct driver){0};
	if (load(w, e))
		return -1;
	r = cuInit(0); /* of no GPU, too */
	if (r != CUDA_SUCCESS && r != CUDA_ERROR_NO_DEVICE)
		return does_not_start(r, e);
	(void)cuDriverGetVersion(&ret->version);
	if (r == CUDA_SUCCESS && cuDeviceGetCount(&ret->gpus) == CUDA_SUCCESS && ret->gpus > 0)
		return 0;
	return no_gpu(e);
}

/* Work that it was given did not end well: all of it worked elsewhere. Bad memory and links say
 * so, as does what reads where nothing is. */
enum { LATE = 909 };	  /* CUDA_ERROR_TIMEOUT: our own deadline, as gpu_drain() has it */
enum { CONTAINED = 721 }; /* CUDA_ERROR_CONTAINED, which headers before 12.8 have not */
static const int sick[] = {CUDA_ERROR_ECC_UNCORRECTABLE,
			   CUDA_ERROR_NVLINK_UNCORRECTABLE,
			   CUDA_ERROR_ILLEGAL_ADDRESS,
			   CUDA_ERROR_HARDWARE_STACK_ERROR,
			   CUDA_ERROR_ILLEGAL_INSTRUCTION,
			   CUDA_ERROR_MISALIGNED_ADDRESS,
			   CUDA_ERROR_INVALID_ADDRESS_SPACE,
			   CUDA_ERROR_INVALID_PC,
			   CUDA_ERROR_LAUNCH_FAILED,
			   CUDA_ERROR_UNKNOWN,
			   LATE,
			   CONTAINED};

const char *driver_check(CUresult r)
{
	if (r == CUDA_ERROR_LAUNCH_TIMEOUT)
		return DEV_WATCHED;
	for (size_t i = 0; i < ARRAY_LEN(sick); i++)
		if ((int)r == sick[i])
			return DEV_SICK;
	return NULL;
}

const char *driver_words(CUresult r)
{
	const char *text = NULL;

	if (r == CUDA_ERROR_LAUNCH_TIMEOUT)
		return "a screen is at this GPU, and its driver ends kernels that take as long as "
		       "that (CUDA error 702)";
	return cuGetErrorString(r, &text) == CUDA_SUCCESS && text ? text : "unknown CUDA error";
}

bool driver_quoted_sick(const char *text)
{
	const char *words;

	for (size_t i = 0; i < ARRAY_LEN(sick); i++) {
		if (cuGetErrorString((CUresult)sick[i], &words) == CUDA_SUCCESS && words &&
		    strstr(text, words) && sick[i] != CUDA_ERROR_UNKNOWN)
			return true;
	}
	return false;
}

int driver_hint_taken(CUresult r, struct err *e)
{
	if (r != CUDA_ERROR_DEVICE_UNAVAILABLE)
		return -1;
	e->kind = ERR_ABSENT;
	return err_hint(e, "another process has it, and by its compute mode (Exclusive_Process) it "
			   "takes one only: a rank for each GPU, or sudo nvidia-smi -c DEFAULT");
}

int driver_hint_kernels(int version, CUresult r, struct err *e)
{
	if (!image_is_foreign(r) && r != CUDA_ERROR_JIT_COMPILER_NOT_FOUND)
		return -1;
	return err_hint(e,
			"they were compiled with CUDA %d.%d, the driver knows CUDA %d.%d: a newer "
			"driver, all of it (libnvidia-ptxjitcompiler.so.1 in a container, too), or "
			"a build with an older nvcc",
			CUDA_VERSION / 1000, CUDA_VERSION / 10 % 100, version / 1000,
			version / 10 % 100);
}
