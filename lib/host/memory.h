#ifndef LIB_HOST_MEMORY_H
#define LIB_HOST_MEMORY_H
/* How much memory may be taken here before it hurts somebody. */
#include "lib/core/base.h"

/* What the kernel holds to be available, or less where a control group says so; 0: unknown. */
uint64_t memory_available(void);
/* The number of a line of /proc/meminfo, "MemTotal:": mostly KiB; 0: unknown. */
uint64_t memory_info(const char *key);
/* What one process may still take (ulimit -v, -d); UINT64_MAX: it has no limit. */
uint64_t memory_of_process(void);

#endif
