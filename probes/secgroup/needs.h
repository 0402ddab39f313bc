#ifndef PROBES_SECGROUP_NEEDS_H
#define PROBES_SECGROUP_NEEDS_H
/*
 * The TCP ports that training needs between nodes: MASTER_PORT, and all that the
 * kernel may hand out, because NCCL, Gloo and torch listen on those. The same in
 * every cloud.
 */
#include "lib/net/port_spans.h"

struct port_needs {
	uint16_t master;
	struct port_span ephemeral;
};

/* As spans that do not overlap: how many. */
size_t port_needs_spans(const struct port_needs *n, struct port_span ret[2]);
/* What is closed of them, in a sentence; @verb: "enter from". @open: of all ports. */
const char *port_needs_closed(struct arena *a, const struct port_needs *n, const port_spans *closed,
			      const port_spans *open, const char *verb);

#endif
