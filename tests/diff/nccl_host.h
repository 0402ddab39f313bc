#ifndef TESTS_DIFF_NCCL_HOST_H
#define TESTS_DIFF_NCCL_HOST_H
/* A layout made real: namespaces, links, files and environment of the calling process. */
#include "tests/diff/nccl_layout.h"

struct host_dir {
	char dir[64]; /* one worker's: etc/, home/, pwhome/, nccl.conf */
};

int host_dir_make(struct host_dir *h);
void host_dir_remove(const struct host_dir *h);
/* Never undone: the caller is a process of its own and ends after. */
int host_build(const struct host_dir *h, const struct layout *l, struct arena *a);
/*
 * Every @jobs-th layout, each in a child whose namespaces end with it: @one's result is its
 * status. Counts @done and @bad, which may be shared. -1: there is no folder to work in.
 */
int host_work(struct host_dir *h, uint64_t first, uint64_t end, unsigned jobs,
	      int (*one)(void *arg, uint64_t number), void *arg, unsigned *done, unsigned *bad);
/* stdin from @in, stdout to @ret_out; either may be NULL. Killed after 20 s. Status, or -1. */
int host_run(char *const argv[], const struct text *in, struct text *ret_out);

#endif
