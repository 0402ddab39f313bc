#ifndef BENCH_SWEEP_ASK_HOSTS_H
#define BENCH_SWEEP_ASK_HOSTS_H
/* What the hosts of a saved run are, as people write it. Errors are ERR_USAGE. */
#include "lib/core/arena.h"
#include "lib/core/err.h"

/* "400", "400Gb/s", "3.2T", "8x400G": Gb/s. */
int ask_nic(const char *text, double *ret_gbps, struct err *e) MUST_CHECK;
/* A type by as much of its name as no other has. Of several, and of a slip, the right names are
 * said; what is like none is taken as it is: no list has all. */
int ask_instance(const char *text, struct arena *a, const char **ret, struct err *e) MUST_CHECK;

#endif
