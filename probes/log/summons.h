#ifndef PROBES_LOG_SUMMONS_H
#define PROBES_LOG_SUMMONS_H
/*
 * Where each node of a server was told to meet the others, as SGLang and vLLM say their options
 * when they start: dist_init_addr='10.0.0.1:5000', nnodes=2, node_rank=0. The first two nodes that
 * were told different places are kept.
 */
#include "probes/log/line.h"

struct summons {
	struct summoned {
		char place[64]; /* "": nobody yet */
		long node;
	} first, other;
};

void summons_hear(struct summons *s, const struct log_line *l);
/* Were two told different places? Of other ports, nobody can meet there; of other addresses, both
 * may be node 0's. */
enum summons_differ { SUMMONS_ONE, SUMMONS_ADDRESSES, SUMMONS_PORTS };
enum summons_differ summons_judge(const struct summons *s);

#endif
