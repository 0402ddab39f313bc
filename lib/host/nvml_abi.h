#ifndef LIB_HOST_NVML_ABI_H
#define LIB_HOST_NVML_ABI_H
/*
 * What of NVML's binary interface is used. Its header is not everywhere, so the
 * types are declared here, after nvml.h of CUDA 12.9 and 13.5 (packages
 * nvidia-nvml-dev-cu12 12.9.79 and nvidia-nvml-dev 13.5.37); tests/unit/t_nvml.c
 * keeps their sizes. Functions that a driver lacks are NULL: every call is
 * guarded, and the value is then unknown.
 */
#include "lib/core/base.h"

struct abi_pci {
	char legacy[16];
	unsigned domain, bus, device, device_id, subsystem_id;
	char id[32]; /* "00000000:10:1C.0" */
};
struct abi_memory {
	unsigned long long total, free, used;
};
struct abi_process { /* nvmlProcessInfo_v2_t: of the functions _v2 and _v3 */
	unsigned pid;
	unsigned long long bytes;
	unsigned gpu_instance, compute_instance;
};
/* Early drivers 535 (535.54) write longer entries for _v3, which begin likewise. */
enum { ABI_PROCESS_LONG_BYTES = 32 };
struct abi_utilization {
	unsigned gpu, memory;
};
struct abi_fabric { /* nvmlGpuFabricInfo_v3_t; _v2_t ends before summary */
	unsigned version;
	unsigned char cluster[16];
	int status;
	unsigned clique;
	unsigned char state;
	unsigned health;
	unsigned char summary;
};
struct abi_fabric_old { /* nvmlGpuFabricInfo_t: without a version */
	unsigned char cluster[16];
	int status;
	unsigned clique;
	unsigned char state;
};
struct abi_margin { /* nvmlMarginTemperature_v1_t */
	unsigned version;
	int celsius; /* that are left to the nearest limit */
};
struct abi_field { /* nvmlFieldValue_t */
	unsigned id, scope;
	long long time_us, took_us;
	int type, error; /* ABI_*, nvmlReturn_t */
	union {
		unsigned u;
		int s;
		unsigned long long ull;
		long long sll;
	} value;
};
/* nvmlValueType_t, as far as fields of ours have one: its "unsigned long" is of 64 bits here. */
enum { ABI_UNSIGNED = 1, ABI_ULONG, ABI_ULONGLONG, ABI_LONGLONG, ABI_INT };
enum { ABI_SLOWDOWN_TLIMIT = 194 }; /* NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT: as a margin */
enum { ABI_FABRIC_V2_BYTES = 36 };  /* sizeof(nvmlGpuFabricInfo_v2_t) */
#define ABI_VERSION(bytes, n) ((unsigned)(bytes) | (unsigned)(n) << 24)

typedef void *abi_gpu;
typedef int abi_number(abi_gpu, unsigned *);
typedef int abi_text(abi_gpu, char *, unsigned);

/* Name of the field, name in the library, and one older name that is the same. */
#define NVML_FUNCTIONS(F)                                                                          \
	F(init, int (*)(void), "nvmlInit_v2", NULL)                                                \
	F(shutdown, int (*)(void), "nvmlShutdown", NULL)                                           \
	F(error_string, const char *(*)(int), "nvmlErrorString", NULL)                             \
	F(driver_version, int (*)(char *, unsigned), "nvmlSystemGetDriverVersion", NULL)           \
	F(library_version, int (*)(char *, unsigned), "nvmlSystemGetNVMLVersion", NULL)            \
	F(cuda_version, int (*)(int *), "nvmlSystemGetCudaDriverVersion_v2",                       \
	  "nvmlSystemGetCudaDriverVersion")                                                        \
	F(count, int (*)(unsigned *), "nvmlDeviceGetCount_v2", NULL)                               \
	F(by_index, int (*)(unsigned, abi_gpu *), "nvmlDeviceGetHandleByIndex_v2", NULL)           \
	F(by_pci, int (*)(const char *, abi_gpu *), "nvmlDeviceGetHandleByPciBusId_v2", NULL)      \
	F(name, abi_text *, "nvmlDeviceGetName", NULL)                                             \
	F(uuid, abi_text *, "nvmlDeviceGetUUID", NULL)                                             \
	F(vbios, abi_text *, "nvmlDeviceGetVbiosVersion", NULL)                                    \
	F(serial, abi_text *, "nvmlDeviceGetSerial", NULL)                                         \
	F(pci, int (*)(abi_gpu, struct abi_pci *), "nvmlDeviceGetPciInfo_v3", NULL)                \
	F(memory, int (*)(abi_gpu, struct abi_memory *), "nvmlDeviceGetMemoryInfo", NULL)          \
	F(persistence, abi_number *, "nvmlDeviceGetPersistenceMode", NULL)                         \
	F(mode, abi_number *, "nvmlDeviceGetComputeMode", NULL)                                    \
	F(ecc_mode, int (*)(abi_gpu, unsigned *, unsigned *), "nvmlDeviceGetEccMode", NULL)        \
	F(ecc_errors, int (*)(abi_gpu, int, int, unsigned long long *),                            \
	  "nvmlDeviceGetTotalEccErrors", NULL)                                                     \
	F(rows, int (*)(abi_gpu, unsigned *, unsigned *, unsigned *, unsigned *),                  \
	  "nvmlDeviceGetRemappedRows", NULL)                                                       \
	F(pages, int (*)(abi_gpu, int, unsigned *, unsigned long long *),                          \
	  "nvmlDeviceGetRetiredPages", NULL)                                                       \
	F(pages_pending, abi_number *, "nvmlDeviceGetRetiredPagesPendingStatus", NULL)             \
	F(reasons, int (*)(abi_gpu, unsigned long long *),                                         \
	  "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")   \
	F(clock, int (*)(abi_gpu, int, unsigned *), "nvmlDeviceGetClockInfo", NULL)                \
	F(max_clock, int (*)(abi_gpu, int, unsigned *), "nvmlDeviceGetMaxClockInfo", NULL)         \
	F(app_clock, int (*)(abi_gpu, int, unsigned *), "nvmlDeviceGetApplicationsClock", NULL)    \
	F(app_default, int (*)(abi_gpu, int, unsigned *), "nvmlDeviceGetDefaultApplicationsClock", \
	  NULL)                                                                                    \
	F(power, abi_number *, "nvmlDeviceGetPowerUsage", NULL)                                    \
	F(limit, abi_number *, "nvmlDeviceGetEnforcedPowerLimit", NULL)                            \
	F(default_limit, abi_number *, "nvmlDeviceGetPowerManagementDefaultLimit", NULL)           \
	F(temperature, int (*)(abi_gpu, int, unsigned *), "nvmlDeviceGetTemperature", NULL)        \
	F(threshold, int (*)(abi_gpu, int, unsigned *), "nvmlDeviceGetTemperatureThreshold", NULL) \
	F(margin, int (*)(abi_gpu, struct abi_margin *), "nvmlDeviceGetMarginTemperature", NULL)   \
	F(fields, int (*)(abi_gpu, int, struct abi_field *), "nvmlDeviceGetFieldValues", NULL)     \
	F(pcie_gen, abi_number *, "nvmlDeviceGetCurrPcieLinkGeneration", NULL)                     \
	F(pcie_gen_max, abi_number *, "nvmlDeviceGetMaxPcieLinkGeneration", NULL)                  \
	F(pcie_width, abi_number *, "nvmlDeviceGetCurrPcieLinkWidth", NULL)                        \
	F(pcie_width_max, abi_number *, "nvmlDeviceGetMaxPcieLinkWidth", NULL)                     \
	F(utilization, int (*)(abi_gpu, struct abi_utilization *),                                 \
	  "nvmlDeviceGetUtilizationRates", NULL)                                                   \
	F(processes, int (*)(abi_gpu, unsigned *, struct abi_process *),                           \
	  "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2")    \
	F(capability, int (*)(abi_gpu, int *, int *), "nvmlDeviceGetCudaComputeCapability", NULL)  \
	F(mig, int (*)(abi_gpu, unsigned *, unsigned *), "nvmlDeviceGetMigMode", NULL)             \
	F(link, int (*)(abi_gpu, unsigned, unsigned *), "nvmlDeviceGetNvLinkState", NULL)          \
	F(link_errors, int (*)(abi_gpu, unsigned, int, unsigned long long *),                      \
	  "nvmlDeviceGetNvLinkErrorCounter", NULL)                                                 \
	F(link_remote, int (*)(abi_gpu, unsigned, int *), "nvmlDeviceGetNvLinkRemoteDeviceType",   \
	  NULL)                                                                                    \
	F(fabric, int (*)(abi_gpu, struct abi_fabric *), "nvmlDeviceGetGpuFabricInfoV", NULL)      \
	F(fabric_old, int (*)(abi_gpu, struct abi_fabric_old *), "nvmlDeviceGetGpuFabricInfo", NULL)

struct nvml_api {
#define NVML_FIELD(field, type, name, older) __typeof__(type) field;
	NVML_FUNCTIONS(NVML_FIELD)
#undef NVML_FIELD
};

/* False: there is no such library, or not enough of it. */
bool nvml_load(struct nvml_api *ret);

/* False: it does not know that field of this GPU, or it is no whole number. */
bool nvml_field(const struct nvml_api *api, abi_gpu gpu, unsigned id, unsigned scope, int64_t *ret);

struct nvml_gpu;
/* In the child: everything about one GPU. */
void nvml_read_gpu(const struct nvml_api *api, unsigned index, struct nvml_gpu *ret);

#endif
