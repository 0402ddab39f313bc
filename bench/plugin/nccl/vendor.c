#include "bench/plugin/nccl/vendor.h"

#include "bench/plugin/cards.h"
#include "bench/plugin/library.h"

enum { OLDEST = 21400 }; /* the first with communicators that do not block */

static const char *const nccl_needs[] = {
	"ncclGetVersion",	 "ncclGetUniqueId",    "ncclCommInitRankConfig",
	"ncclCommGetAsyncError", "ncclCommFinalize",   "ncclCommAbort",
	"ncclCommDestroy",	 "ncclGetErrorString", "ncclGetLastError",
	"ncclAllReduce",	 "ncclReduce",	       "ncclBroadcast",
	"ncclAllGather",	 "ncclReduceScatter",  "ncclRedOpCreatePreMulSum",
	"ncclRedOpDestroy",	 "ncclSend",	       "ncclRecv",
	"ncclGroupStart",	 "ncclGroupEnd",
};
static const char *const cuda_needs[] = {
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
};

static const char least[] = "NCCL 2.14 and a driver of its time";

static void *open_nccl(const char *given, struct err *e)
{
	const struct library_want want = places_of_nccl(given);
	char why[LIBRARY_WHY];
	void *so = library_open(&want, why);

	if (so)
		return so;
	err_set(e, ERR_ABSENT, "cannot load NCCL: %s", why);
	err_hint(e, "looked at --nccl, WINDSOCK_NCCL, " LIBRARY_PLACES
		    "; apt-get install libnccl2, or pip install nvidia-nccl-cu13 (cu12 for an "
		    "older driver)");
	return NULL;
}

int vendor_find_nccl(const char *given, struct vendor *ret, struct err *e)
{
	void *so = open_nccl(given, e);
	char text[32];

	*ret = (struct vendor){0};
	if (!so)
		return -1;
	library_path("ncclGetVersion", "libnccl.so.2", ret->nccl_path, sizeof(ret->nccl_path));
	if (library_needs(so, nccl_needs, ARRAY_LEN(nccl_needs), ret->nccl_path, least, e))
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
	char found[sizeof(ret->nccl_path) + 64], version[32];
	const struct driver_want want = {cuda_needs, ARRAY_LEN(cuda_needs), found,
					 "--backend tcp does without", least};

	if (vendor_find_nccl(given, ret, e))
		return -1;
	vendor_version(ret->nccl, version, sizeof(version));
	(void)snprintf(found, sizeof(found), "NCCL itself is: %s (%s)", ret->nccl_path, version);
	return driver_start(&want, &ret->driver, e);
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
		       v->driver.version / 1000, v->driver.version / 10 % 100, v->driver.gpus,
		       v->driver.gpus == 1 ? "" : "s");
}

int cuda_blames(CUresult r, struct err *e)
{
	plugin_check = driver_check(r) ?: DEV_SICK;
	return err_take_fix(e, streq(plugin_check, DEV_WATCHED) ? DEV_WATCHED_FIX : DEV_SICK_FIX);
}

int cuda_failed(const char *what, CUresult r, struct err *e)
{
	err_set(e, ERR_SYS, "%s: %s", what, driver_words(r));
	return driver_check(r) ? cuda_blames(r, e) : -1;
}
