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
/* stdin from @in, stdout to @ret_out; either may be NULL. Killed after 20 s. Status, or -1. */
int host_run(char *const argv[], const struct text *in, struct text *ret_out);

#endif
