#ifndef PROBES_LOG_GID_H
#define PROBES_LOG_GID_H
/*
 * By which of its addresses (GIDs) a RoCE port sends: the first two of each port are link-local,
 * and the first of all is RoCE v1, which no router passes on. Judged where RDMA got no answer, and
 * nothing went on by the same address before. Bounded.
 */
#include "probes/log/line.h"

#define GID_SETTINGS "_IB_GID_INDEX"
#define GID_ANCHORS "NET/IB : Using |NET/IB: Using |:1/RoCE|:2/RoCE|link_layer:|" GID_SETTINGS

struct why;
struct why_stream;
struct arena;
struct explanation;

enum { GID_PORTS_MAX = 64, GID_NAMES_MAX = 4 };

struct gids {
	bool is_roce; /* a port is Ethernet's ... */
	bool is_ib;   /* ... or InfiniBand's, whose addresses are all link-local */
	struct gid_port {
		char hca[24];
		bool is_roce;
	} ports[GID_PORTS_MAX];
	/* what holds in the end: the library's own word, or else the latest setting */
	struct gid_setting {
		char name[32]; /* "NCCL_IB_GID_INDEX" */
		long index;    /* -1: it was unset */
		bool is_own;
	} set[GID_NAMES_MAX];
	unsigned nports, nset;
};

void gid_hear(struct why *w, struct why_stream *s, const struct log_line *l);
void gid_judge(struct why *w, struct arena *a, struct explanation *x);

#endif
