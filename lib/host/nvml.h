#ifndef LIB_HOST_NVML_H
#define LIB_HOST_NVML_H
/*
 * NVIDIA's GPUs as the management library of their driver tells: what is on
 * them, who uses them, and how they are. The library (libnvidia-ml.so.1, or
 * WINDSOCK_NVML=PATH) is loaded at run time and called in a child process: a
 * sick GPU makes it hang, and then what it said before is what there is.
 * Reads only. Unknown numbers are -1, unknown text is "".
 */
#include "lib/core/arena.h"

enum { NVML_LINKS = 36, NVML_PROCESSES = 16 };

/* nvmlReturn_t, as far as it means something to people. */
enum {
	NVML_OK = 0,
	NVML_NO_PERMISSION = 4,
	NVML_NOT_LOADED = 9,
	NVML_GPU_LOST = 15,
	NVML_RESET_REQUIRED = 16,
	NVML_BLOCKED = 17,
	NVML_MISMATCH = 18,
};

/* Why the clocks are not what they could be: bits of nvml_gpu.reasons. */
enum {
	NVML_SLOW_IDLE = 0x1,
	NVML_SLOW_SET = 0x2, /* somebody set the application clocks */
	NVML_SLOW_POWER_CAP = 0x4,
	NVML_SLOW_HARDWARE = 0x8,
	NVML_SLOW_SOFT_HEAT = 0x20,
	NVML_SLOW_HEAT = 0x40,
	NVML_SLOW_POWER_BRAKE = 0x80,
};

enum { NVML_FABRIC_NONE, NVML_FABRIC_NOT_STARTED, NVML_FABRIC_IN_PROGRESS, NVML_FABRIC_COMPLETED };
enum { NVML_MODE_DEFAULT, NVML_MODE_PROHIBITED = 2, NVML_MODE_EXCLUSIVE = 3 };

struct nvml_fabric {
	int state;  /* NVML_FABRIC_* */
	int status; /* nvmlReturn_t; of meaning where the state is COMPLETED */
	char status_text[64];
	char cluster[33]; /* 32 hex digits; all 0: no domain between hosts */
	int64_t clique;
	int64_t health; /* a mask of fields: nvml_health_text() */
	int summary;	/* 1 healthy, 2 unhealthy, 3 limited */
};

struct nvml_process {
	unsigned pid; /* as the host counts them */
	int64_t bytes;
};

struct nvml_gpu {
	int index;
	int error; /* nvmlReturn_t of opening it; the rest is unknown then */
	char error_text[96];
	char name[96], uuid[96], pci[32], vbios[32], serial[32];
	int64_t memory_bytes, used_bytes;
	int persistence, mode, ecc, mig, mig_pending;
	int64_t ecc_uncorrected, ecc_corrected; /* since the driver was loaded */
	int64_t ecc_lifetime;			/* uncorrected, ever */
	int64_t rows_corrected, rows_uncorrected, rows_pending, rows_failed;
	int64_t pages_single, pages_double, pages_pending;
	int64_t reasons;
	int64_t sm_mhz, sm_max_mhz, memory_mhz, app_mhz, app_default_mhz;
	int64_t power_mw, limit_mw, default_limit_mw;
	int64_t celsius, slowdown_celsius, shutdown_celsius;
	int64_t pcie_gen, pcie_gen_max, pcie_width, pcie_width_max;
	int64_t busy_percent;
	int capability; /* 90: compute capability 9.0 */
	int nprocesses; /* of which at most NVML_PROCESSES are listed */
	struct nvml_process processes[NVML_PROCESSES];
	signed char links[NVML_LINKS]; /* 1 active, 0 inactive, -1 there is none */
	bool to_switch;		       /* at least one link ends in an NVSwitch */
	struct nvml_fabric fabric;
};

enum nvml_answer {
	NVML_ABSENT,  /* no library */
	NVML_FINE,    /* it answered; single GPUs may still have an error */
	NVML_REFUSED, /* its initialisation failed: error, error_text */
	NVML_SILENT,  /* no answer within the deadline: stuck_at */
	NVML_CRASHED, /* likewise */
	NVML_CUT,     /* we did not wait for it: error_text says why */
};

struct nvml {
	enum nvml_answer answer;
	int error;
	char error_text[96];
	char driver[96], library[96];
	int cuda;     /* 13000: the newest that this driver serves */
	int count;    /* closed ones, too */
	int closed;   /* may not be opened from here, and are in no list: somebody else's */
	int stuck_at; /* the GPU about which it went silent; -1: at its start */
	LIST(struct nvml_gpu) gpus;
};

/* @deadline_ns: the longest silence. Below a sysroot only WINDSOCK_NVML is asked. */
void nvml_read(struct arena *a, uint64_t deadline_ns, struct nvml *ret);

/*
 * What a link that is up has counted: up to NVLink 4 in the order of nvmlNvLinkErrorCounter_t, from
 * 5 on (Blackwell) by fields that are others.
 */
enum {
	NVML_REPLAYS,
	NVML_RECOVERIES,
	NVML_CRC_FLIT,
	NVML_CRC_DATA,
	NVML_DAMAGED,
	NVML_INTEGRITY,
	NVML_LOST,
	NVML_RETRAINED,
	NVML_LINK_COUNTERS
};
struct nvml_link {
	int gpu, link;
	int64_t errors[NVML_LINK_COUNTERS]; /* -1: it does not say */
};
typedef LIST(struct nvml_link) nvml_link_list;
/* Of all GPUs, in a child too; what came before it fell silent. */
void nvml_read_links(struct arena *a, uint64_t deadline_ns, nvml_link_list *ret);

struct nvml_load { /* what shows while it works; -1: unknown */
	int64_t reasons, sm_mhz, celsius;
};
/* Of the GPU at @pci alone, in a child too: others would take time, and the work ends. */
void nvml_read_load(const char *pci, uint64_t deadline_ns, struct nvml_load *ret);

/* "bandwidth is degraded, a route is unhealthy"; NULL: nothing in the mask is bad. */
const char *nvml_health_text(struct arena *a, int64_t health, bool *ret_severe);
/* "power brake (supply), heat"; NULL: none that slows it down against its will. */
const char *nvml_slow_text(struct arena *a, int64_t reasons);

#endif
