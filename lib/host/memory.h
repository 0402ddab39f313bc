#ifndef LIB_HOST_MEMORY_H
#define LIB_HOST_MEMORY_H
/* How much memory may be taken here before it hurts somebody. */
#include "lib/core/base.h"

/* What the kernel holds to be available, or less where a control group says so; 0: unknown. */
uint64_t memory_available(void);
/* The number of a line of /proc/meminfo, "MemTotal:": mostly KiB; 0: unknown. */
uint64_t memory_info(const char *key);
/*
 * What a GPU that has no memory of its own (integrated: GB10, Jetson) may be given: of that it
 * tells what is free, and what the kernel keeps of files makes room as it does for anybody.
 */
uint64_t memory_of_integrated(uint64_t free_bytes);
/* What one process may still take (ulimit -v, -d); UINT64_MAX: it has no limit. */
uint64_t memory_of_process(void);

#endif
