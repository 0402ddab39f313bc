#ifndef BENCH_PLUGIN_NCCL_LOG_H
#define BENCH_PLUGIN_NCCL_LOG_H
/* NCCL's own log: the only place where it says which way it really goes. */
#include "bench/plugin/nccl/nccl.h"
#include "bench/plugin/transport.h"

/* --- log_file.c --- */
/* Before NCCL is asked for anything. Of a person's own NCCL_DEBUG the lines still come. */
void log_begin(void);
/* The variable by which a person has it elsewhere, or less in it; NULL: it is ours. */
const char *log_hidden_by(void);
bool log_read(struct arena *a, char **ret, size_t *ret_n); /* all of it; false: there is none */
/* By which interface and address this rank meets the others: "docker0:172.17.0.1"; NULL: not said.
 */
const char *log_meets_by(struct arena *a);
/* Has it grown since? Then NCCL moves on, however long it takes. */
bool log_grew(size_t *seen);
void log_pass_on(void); /* what is new, as far as it was asked for, to stderr */
void log_end(void);	/* whatever became of it: no file is left, where it was one */

/* --- log.c --- */
/* Collective: @c's pairs are what all ranks printed so far, on every rank; its cards are our own.
 */
int log_gather(struct nccl_comm *c, struct err *e) MUST_CHECK;

#endif
