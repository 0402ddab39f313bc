#ifndef BENCH_RANKS_MPIRUN_GUARD_H
#define BENCH_RANKS_MPIRUN_GUARD_H
/*
 * An mpirun whose starter was killed is asked to end, so that it removes what it has in /dev/shm:
 * once, by a process beside it, which also lets one go on that is stopped, and ends by force one
 * that hangs.
 */
#include "lib/core/base.h"

#include <sys/types.h>

/* Its process; -1: there is none here, and the kernel has to ask it (PR_SET_PDEATHSIG). */
pid_t mpirun_guard_start(pid_t mpirun);
/* Once mpirun has ended. */
void mpirun_guard_end(pid_t guard);

#endif
