#ifndef BENCH_SWEEP_LOCAL_H
#define BENCH_SWEEP_LOCAL_H
/*
 * A world of ranks on this machine: the calling process is rank 0, the others
 * are its forked children and end when it ends, however it ends. Enough to
 * meet: an all-gather of small blobs through pairs of sockets.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

struct local {
	int rank, size;
	int lost; /* the rank that an exchange failed of, -1: none */
	uint64_t deadline_ns;
	int *fds;    /* rank 0: to each rank; others: fds[0] to rank 0 */
	pid_t *pids; /* rank 0 only; 0: has ended */
	int *status; /* as waitpid() gave it; -1: not ended */
};

/* Returns 0 in every rank, with its own rank set; -1 in the caller alone. */
int local_start(struct local *w, int size, uint64_t deadline_ns, struct err *e) MUST_CHECK;
/* As tcp_opts.exchange wants it. Collective. */
int local_exchange(void *local, const void *mine, size_t n, void *all, struct err *e);
/* How another rank ended, as rank 0 knows it: "killed by signal 9"; NULL: it lives, or in order. */
const char *local_cause(struct local *w, int rank, struct arena *a);
/* Rank 0: as local_done(), and says how each rank ended: its exit code, or minus the signal. */
void local_end(struct local *w, int *ret_status);
/* Rank 0: waits a moment for the others, then ends them. Others: closes. */
void local_done(struct local *w);

#endif
