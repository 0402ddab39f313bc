#include "probes/secgroup/needs.h"

size_t port_needs_spans(const struct port_needs *n, struct port_span ret[2])
{
	bool is_inside = n->master >= n->ephemeral.first && n->master <= n->ephemeral.last;

	ret[0] = n->ephemeral;
	if (is_inside)
		return 1;
	ret[0] = (struct port_span){n->master, n->master};
	ret[1] = n->ephemeral;
	return 2;
}

const char *port_needs_closed(struct arena *a, const struct port_needs *n, const port_spans *closed,
			      const port_spans *open, const char *verb)
{
	const char *ports = port_spans_text(a, closed);

	if (!port_spans_hold(open, n->master))
		return arena_printf(a, "TCP %s cannot %s the other nodes", ports, verb);
	return arena_printf(
		a,
		"MASTER_PORT %u is open, but NCCL, Gloo and torch also connect to ports "
		"of %u-%u, and TCP %s cannot %s the other nodes",
		n->master, n->ephemeral.first, n->ephemeral.last, ports, verb);
}
