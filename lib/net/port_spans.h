#ifndef LIB_NET_PORT_SPANS_H
#define LIB_NET_PORT_SPANS_H
/*
 * Sets of ports as rules have them: spans in ascending order that do not touch.
 */
#include "lib/core/arena.h"

struct port_span {
	uint16_t first, last;
};
typedef LIST(struct port_span) port_spans;

/* Behind all that are there; one that begins where the last ends becomes part of it. */
void port_spans_add(struct arena *a, port_spans *l, uint16_t first, uint16_t last);
bool port_spans_hold(const port_spans *l, uint16_t port);
/* "22,29500-29510"; "" when there are none. */
const char *port_spans_text(struct arena *a, const port_spans *l);
/* What is left of @within. */
void port_spans_invert(struct arena *a, const port_spans *l, struct port_span within,
		       port_spans *ret);

/* Where something changes: ports inside of @within, but for its first. */
typedef LIST(int) port_edges;
void port_edges_add(struct arena *a, port_edges *l, int edge, struct port_span within);
/*
 * The ports of @within that @is_in holds for, asked once between two edges, because there
 * nothing changes. @l is sorted.
 */
void port_spans_where(struct arena *a, port_edges *l, struct port_span within,
		      bool (*is_in)(const void *arg, uint16_t port), const void *arg,
		      port_spans *ret);

#endif
