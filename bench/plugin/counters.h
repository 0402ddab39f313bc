#ifndef BENCH_PLUGIN_COUNTERS_H
#define BENCH_PLUGIN_COUNTERS_H
/*
 * Error counters of RDMA ports and of NVLinks, read before and after a run:
 * what grew in between names the port, and so the cable. RDMA ports from sysfs
 * (below --sysroot too), NVLinks from NVML. What cannot be read is absent.
 */
#include "lib/report/report.h"

#include <sys/types.h>

struct counter {
	const char *port;    /* "mlx5_0/1", "GPU 0 NVLink 3" */
	const char *name;    /* "symbol_error"; "": nothing is told of this port */
	const char *meaning; /* "bits arrive wrong: cable or transceiver" */
	bool severe;	     /* no healthy run grows it */
	uint64_t value;
};
typedef LIST(struct counter) counter_list;

bool counters_may_be_here(void); /* cards, or NVML */
/* @silence_ns: the longest of NVML. */
void counters_read(struct arena *a, uint64_t silence_ns, counter_list *ret);

/*
 * Both times by a process beside us, from before we use a GPU: NVML is asked in a child, and in a
 * process that has CUDA and cards at work nobody forks; nor does a run wait for a slow start of it.
 */
struct counter_watch { /* zero: not begun */
	pid_t pid;
	int fd;
};
void counters_watch_begin(struct counter_watch *w);
/* Reads them again. An event as counters_pack() makes it; NULL: there are none here. */
cJSON *counters_watch_end(struct counter_watch *w);

/*
 * One finding per counter that grew (rdma.counter, nvlink.counter): FAIL for the
 * severe ones, WARN for the others; one PASS when there are counters and none grew, one SKIP when
 * none could be read again, or NVLinks are up of which nothing is told.
 * Adds nothing where there are none. @host: NULL for this one. @add: report_add().
 */
void counters_judge(const counter_list *before, const counter_list *after, const char *host,
		    struct report *r, void (*add)(struct report *r, struct finding *f));

/* From the rank that read them to the process that reports. */
cJSON *counters_pack(const counter_list *before, const counter_list *after, const char *host);
void counters_unpack(const cJSON *packed, struct arena *a, counter_list *before,
		     counter_list *after, const char **ret_host);

#endif
