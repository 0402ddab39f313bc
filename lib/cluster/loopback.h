#ifndef LIB_CLUSTER_LOOPBACK_H
#define LIB_CLUSTER_LOOPBACK_H
/*
 * Ranks meet the agent on their own machine at 127.0.0.1, and the launcher meets
 * itself there. Where that is down, or a firewall of the host's own drops it, ranks
 * would wait for a rendezvous that cannot be: it is tried before anything is started.
 */
#include "lib/core/err.h"

/* -1 with @e: the sentence, and in its hint the command. */
int loopback_check(struct err *e) MUST_CHECK;
/* Who can tell why it fails: may set @e's message and hint. Asked when it has failed, in
 * this process and in agents that it starts. */
void loopback_explained_by(void (*explain)(struct err *e));

#endif
