#ifndef BENCH_PLUGIN_NCCL_LOG_H
#define BENCH_PLUGIN_NCCL_LOG_H
/* NCCL's own log: the only place where it says which way it really goes. */
#include "bench/plugin/nccl/nccl.h"
#include "bench/plugin/transport.h"

/* Before NCCL is asked for anything. A person's own NCCL_DEBUG is left as it is. */
void log_begin(void);
/* Collective: what all ranks printed so far, on every rank. The cards are our own. */
int log_gather(const struct comm_world *w, struct arena *a, transport_list *ret,
	       struct transport_cards *ret_cards, struct err *e) MUST_CHECK;
/* Has it grown since? Then NCCL moves on, however long it takes. */
bool log_grew(size_t *seen);
void log_end(void);	 /* whatever became of it: no file is left, where it was one */
bool log_has_rdma(void); /* is there an active RDMA port here? */

#endif
