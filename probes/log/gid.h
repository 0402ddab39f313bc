#ifndef PROBES_LOG_GID_H
#define PROBES_LOG_GID_H
/*
 * By which of its addresses (GIDs) a RoCE port sends: the first two of each port are link-local,
 * and the first of all is RoCE v1, which no router passes on. Judged where RDMA got no answer.
 */
#include "probes/log/line.h"

#define GID_ANCHORS "NET/IB : Using |NET/IB: Using |:1/RoCE|:2/RoCE|link_layer:"

struct why;
struct why_stream;
struct arena;
struct explanation;

struct gids {
	bool is_roce; /* a port is Ethernet's ... */
	bool is_ib;   /* ... or InfiniBand's, whose addresses are all link-local */
};

void gid_hear(struct why *w, struct why_stream *s, const struct log_line *l);
void gid_judge(struct why *w, struct arena *a, struct explanation *x);

#endif
