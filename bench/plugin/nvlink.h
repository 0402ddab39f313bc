#ifndef BENCH_PLUGIN_NVLINK_H
#define BENCH_PLUGIN_NVLINK_H
/* Private to bench/plugin: the error counters of NVLinks, by NVML (lib/host/nvml.h). */
#include "bench/plugin/counters.h"

/* Nothing where there is no NVML, or where it is silent for longer. */
void nvlink_read(struct arena *a, uint64_t silence_ns, counter_list *ret);

#endif
