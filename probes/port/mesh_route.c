/* The host whose route it is: one that forbids goes, the one to its own network comes back. */
#include "probes/port/mesh.h"

bool mesh_fix_route(const struct mesh *m, enum port_cause cause, size_t at, size_t peer,
		    const char *host, struct finding *f)
{
	const struct mesh_node *here = &m->nodes[at], *there = &m->nodes[peer];
	const char *ip = there->addr.sa.sa_family == AF_INET6 ? "ip -6" : "ip";
	struct addr_text to;

	addr_print(&there->addr, &to);
	if (cause == CAUSE_OWN_ROUTE) {
		finding_fix(f,
			    "sudo %s route del $(%s route show to match %s | grep -E "
			    "'^(blackhole|unreachable|prohibit) ' | tail -n 1)   # on %s",
			    ip, ip, to.s, host);
		return true;
	}
	if (cause != CAUSE_NO_ROUTE && cause != CAUSE_NO_WAY_BACK)
		return false;
	if (cause == CAUSE_NO_ROUTE && here->iface && here->subnet && there->subnet &&
	    streq(here->subnet, there->subnet))
		finding_fix(f, "sudo %s route replace %s dev %s   # on %s", ip, here->subnet,
			    here->iface, host);
	finding_fix(f, "%s route get %s   # on %s: should leave through %s", ip, to.s, host,
		    here->iface ?: "an interface");
	return true;
}
