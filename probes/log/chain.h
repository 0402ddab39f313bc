#ifndef PROBES_LOG_CHAIN_H
#define PROBES_LOG_CHAIN_H
/* Exceptions that were raised while another was handled: what the outer one was about says what
 * the inner one's bare words meant. */
#include "probes/log/explain.h"

/* A connection that failed within a download is no rank's. */
void chains(struct explanation *x);

#endif
