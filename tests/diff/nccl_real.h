#ifndef TESTS_DIFF_NCCL_REAL_H
#define TESTS_DIFF_NCCL_REAL_H
/*
 * The installed libnccl as an oracle. It is loaded once; every question runs
 * in a fork of its own, because NCCL reads its settings once per process.
 */
#include "lib/core/text.h"

struct truth {
	char outcome[8];  /* "ok", "none", "fails", as data.predict.nccl.outcome */
	char boot[160];	  /* "eth0:10.0.0.1", what follows "Bootstrap: Using" */
	struct text data; /* interfaces in NCCL's order, blank-separated; s NULL: cannot be told */
	struct text log;  /* NCCL's words, for a failing case */
};

/* Loads @path, or looks where the loader, CUDA and Python keep it. False: none is installed. */
bool real_load(const char *path);
const char *real_path(void);
unsigned real_version(void);
/*
 * Asks in the present namespaces and environment. ncclGetUniqueId shows the
 * first interface only, so the list is drawn out one by one: getifaddrs is
 * ours, and what was seen already is moved to its end, which changes the order
 * but never the set that NCCL's passes choose from. (Not with NCCL_COMM_ID,
 * which takes the bootstrap away from the list.)
 */
int real_ask(struct arena *a, struct truth *ret);
/* Flags and addresses as getifaddrs shows them now, to notice a host that is still changing. */
void real_snapshot(struct text *out);

#endif
