#ifndef PROBES_PORT_REACH_H
#define PROBES_PORT_REACH_H
/* Every port of every target asked from this host, and what the answers mean. */
#include "probes/port/cause.h"
#include "probes/port/targets.h"

#include <math.h>

struct reach_opts {
	bool udp;
	unsigned count; /* times that what answered is asked, for the latency; 0: once */
	uint64_t patience_ns;
	const char *device;	  /* --from IFACE */
	const union addr *source; /* --from ADDR */
};
/* Fills device or source from what --from was given; a usage error when this host has neither. */
int reach_from(const char *from, const struct facts *f, struct reach_opts *o,
	       struct err *e) MUST_CHECK;

struct reach_result {
	const struct port_target *target;
	const union addr *addr; /* without port; NULL: the name did not resolve */
	uint16_t port;
	uint8_t state, cause; /* enum port_state, enum port_cause */
	int error;
	float ms;      /* NAN: no answer came; the median of several */
	union addr by; /* who sent an ICMP message; family 0: nobody */
};
/* As late is what was asked again, a second later. */
#define PORT_LATE_MS 900.0F
/* In the order of the targets, their addresses and ports. */
struct reach {
	struct reach_result *v;
	size_t n;
	bool udp;
	const char *own_rule, *own_fix; /* what CAUSE_OWN_FIREWALL is (own.h), or NULL */
	/* per target: how a packet to its first address leaves here */
	struct reach_way {
		bool reachable, on_link; /* on_link: a neighbour, IPv4, found by ARP */
		bool is_near;		 /* a neighbour, whatever its family */
		bool has_gateway;
		int oif; /* 0: not known */
		union addr gateway;
		const char *why;		 /* when not */
		const struct iface_addr *source; /* NULL: not known */
		const char *router; /* it is in the network of @source, and leaves by this one */
		const char *unlinked, *waits; /* CAUSE_OWN_LINK: the card, and a bridge's port that
						 spanning tree holds back, or NULL */
		const char *paths;	      /* what is known of several (own.h), or NULL */
		bool by_port; /* ... and from some source ports it is answered, from others never */
		const char *limits; /* its router tells others that there is no way, or NULL */
		const char *undo;   /* takes away what keeps it from there (own.h), or NULL */
	} * ways;
};
/* What a router has said of one port of an address goes for its silent ones: reach_run() does. */
void reach_spread(struct reach *r, const target_list *targets, struct arena *a);
/* A figure as programs are told it: a float's digits behind these are made up. */
static inline double thousandths(float x) { return round((double)x * 1000) / 1000; }
/* So many results, from @from on, are of one address of one target. */
size_t reach_of_address(const struct reach *r, size_t from);
int reach_run(const target_list *targets, struct facts *f, const struct reach_opts *o,
	      struct reach *ret, struct err *e) MUST_CHECK;

#endif
