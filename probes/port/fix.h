#ifndef PROBES_PORT_FIX_H
#define PROBES_PORT_FIX_H
/* What to type when a port cannot be reached. */
#include "lib/report/report.h"
#include "probes/port/reach.h"

void fix_one(struct finding *f, const struct reach_result *x, const struct reach_way *way,
	     const char *own_fix);
/* The lines that let @source (an address or a subnet) in on @host, in the words of the cloud and
 * of host firewalls. */
void fix_let_in(struct finding *f, enum port_cause cause, const char *source, const char *host);
#define FIX_OPTIONS "the lasting cure is a firewall or router in between that lets it through"
/* Of a bridge, and a port of it that waits. */
#define FIX_STP                                                                                    \
	"sudo ip link set dev %s type bridge stp_state 0 && sudo bridge link set dev %s state 3"
/* A larger table of neighbours, typed on the host whose table it is. */
#define FIX_NEIGHBOURS                                                                             \
	"sudo sysctl -w net.ipv4.neigh.default.gc_thresh1=8192 "                                   \
	"net.ipv4.neigh.default.gc_thresh2=32768 net.ipv4.neigh.default.gc_thresh3=65536"
/* "10.0.0.0/24": the network of an address of this host. */
const char *fix_subnet(const struct iface_addr *x, struct arena *a);
/* Whom to let in or out: the same, where it is more than this host itself. Clouds give out single
 * addresses (GCP's /32, EC2's IPv6 /128): then a word for people to fill in. */
const char *others_subnet(const struct iface_addr *x, struct arena *a);
bool has_others_subnet(const struct iface_addr *x);

#endif
