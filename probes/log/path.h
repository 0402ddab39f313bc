#ifndef PROBES_LOG_PATH_H
#define PROBES_LOG_PATH_H
/*
 * Who wrote a file, as its path says. Launchers that part what the ranks print make a folder or a
 * file for each, and put nothing before the lines in it:
 *
 *	logs/RUN_ID_x/attempt_0/3/stderr.log	torchrun --log-dir, accelerate --log_dir: a local
 *rank out/1/rank.3/stdout			mpirun --output-filename of Open MPI 4711_3_log.err
 *submitit: a task of srun's
 *	20251120_rank3.log			DeepSpeed --enable_each_rank_log, and many a program
 */
#include "probes/log/line.h"

/* The rank, or the local rank and the attempt; the others as not known. */
struct log_who path_speaker(const char *path);

/* The number N of a folder of that name, "attempt_N"; -1: it is none. */
long path_attempt(const char *name);

/* Gives @l, which is placed, what @owner knows and it does not say itself. */
void path_fill(struct log_line *l, const struct log_who *owner);

#endif
