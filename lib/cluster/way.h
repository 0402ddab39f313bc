#ifndef LIB_CLUSTER_WAY_H
#define LIB_CLUSTER_WAY_H
/* What other ways to a host than ssh say when they fail: kubectl, docker, srun, a company's own. */
#include "lib/core/arena.h"

/* What @said, its last line, means, and what is typed then (NULL: not known). NULL: it may as well
 * be of what was to run there. */
const char *way_meaning(const char *said, const char *host, struct arena *a, const char **ret_fix);
/* A wrapper's ssh has said why, whatever the wrapper's code; @err: all that was said. */
bool way_is_of_ssh(const char *said, const char *err);

#endif
