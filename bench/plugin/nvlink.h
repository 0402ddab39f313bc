#ifndef BENCH_PLUGIN_NVLINK_H
#define BENCH_PLUGIN_NVLINK_H
/* Private to bench/plugin: the error counters of NVLinks, by NVML (lib/host/nvml.h). */
#include "bench/plugin/counters.h"

void nvlink_read(struct arena *a, counter_list *ret); /* nothing where there is no NVML */

#endif
