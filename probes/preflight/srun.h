#ifndef PROBES_PREFLIGHT_SRUN_H
#define PROBES_PREFLIGHT_SRUN_H
/* How the hosts of a job of Slurm's are reached without ssh keys, as other ways are: by a program
 * that takes a host and a line for its shell. */
#include "lib/core/arena.h"
#include "lib/core/err.h"

/* What --rsh would be given; NULL: there is no srun. */
const char *srun_rsh(struct arena *a);
/* `windsock --srun HOST COMMAND...`, which that runs: becomes srun. Several words are one line, as
 * they are to ssh; rsync has it so. Returns only with @e filled. */
int srun_exec(char *const *words, int n, struct err *e);

#endif
