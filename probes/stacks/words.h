#ifndef PROBES_STACKS_WORDS_H
#define PROBES_STACKS_WORDS_H
/* Parts of the words of judge.h, for a table. */
#include "probes/stacks/stand.h"

const char *stacks_place(struct arena *a, const struct py_frame *f); /* "train.py:88" */
const char *stacks_doing(struct arena *a, const struct stand *s);    /* "waiting for data" */

/* ", stuck in the kernel nfs_wait", or "" */
const char *stacks_stuck(struct arena *a, const struct stand_worker *w);

#endif
