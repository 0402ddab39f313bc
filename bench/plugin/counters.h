#ifndef BENCH_PLUGIN_COUNTERS_H
#define BENCH_PLUGIN_COUNTERS_H
/*
 * Error counters of RDMA ports and of NVLinks, read before and after a run:
 * what grew in between names the port, and so the cable. RDMA ports from sysfs
 * (below --sysroot too), NVLinks from NVML. What cannot be read is absent.
 */
#include "lib/report/report.h"

struct counter {
	const char *port;    /* "mlx5_0/1", "GPU 0 NVLink 3" */
	const char *name;    /* "symbol_error" */
	const char *meaning; /* "bits arrive wrong: cable or transceiver" */
	bool severe;	     /* no healthy run grows it */
	uint64_t value;
};
typedef LIST(struct counter) counter_list;

void counters_read(struct arena *a, counter_list *ret);
/*
 * One finding per counter that grew (rdma.counter, nvlink.counter): FAIL for the
 * severe ones, WARN for the others; one PASS when there are counters and none grew.
 * Adds nothing where there are none. @host: NULL for this one. @add: report_add().
 */
void counters_judge(const counter_list *before, const counter_list *after, const char *host,
		    struct report *r, void (*add)(struct report *r, struct finding *f));

/* From the rank that read them to the process that reports. */
cJSON *counters_pack(const counter_list *before, const counter_list *after, const char *host);
void counters_unpack(const cJSON *packed, struct arena *a, counter_list *before,
		     counter_list *after, const char **ret_host);

#endif
