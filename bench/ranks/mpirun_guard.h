#ifndef BENCH_RANKS_MPIRUN_GUARD_H
#define BENCH_RANKS_MPIRUN_GUARD_H
/*
 * An mpirun whose starter was killed is asked to end by the kernel (PR_SET_PDEATHSIG), so that it
 * removes what it has in /dev/shm. One that is stopped does not hear that, and one that hangs does
 * not heed it: a process beside it lets it go on, and ends it by force.
 */
#include "lib/core/base.h"

#include <sys/types.h>

/* Its process; -1: there is none here, and nothing is lost but that. */
pid_t mpirun_guard_start(pid_t mpirun);
/* Once mpirun has ended. */
void mpirun_guard_end(pid_t guard);

#endif
