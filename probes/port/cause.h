#ifndef PROBES_PORT_CAUSE_H
#define PROBES_PORT_CAUSE_H
/*
 * What an answer, or the lack of one, means: from errno, the time it took and
 * who sent which ICMP message. An ICMP "port unreachable" in answer to a SYN
 * is a firewall's reject, whatever errno says: a closed port answers with RST.
 */
#include "lib/net/scan.h"

enum port_state {
	PORT_OPEN,
	PORT_REFUSED,
	PORT_FILTERED,
	PORT_UNREACHABLE,
	PORT_DNS,
	PORT_SILENT,
	PORT_UNKNOWN, /* this host could not ask */
};
const char *port_state_name(enum port_state s); /* as in the JSON; NULL: PORT_UNKNOWN */
bool port_state_is_reached(enum port_state s);

enum port_cause {
	CAUSE_NONE,	      /* open */
	CAUSE_CLOSED,	      /* nothing listens */
	CAUSE_DROPPED,	      /* silence */
	CAUSE_HOST_FIREWALL,  /* the host itself says no */
	CAUSE_PATH_FIREWALL,  /* a router says no */
	CAUSE_NOBODY,	      /* no neighbour has that address */
	CAUSE_NOBODY_THERE,   /* a router says so */
	CAUSE_NO_ROUTE,	      /* this host has no route */
	CAUSE_NO_ROUTE_THERE, /* a router says so of itself */
	CAUSE_OWN_FIREWALL,   /* this host's own rules */
	CAUSE_OWN_ROUTE,      /* a prohibit, unreachable or blackhole route here */
	CAUSE_LIMITED,	      /* silence of a host that had said no often enough before */
	CAUSE_NEIGHBOURS,     /* this host's table of neighbours is full */
	CAUSE_UDP,	      /* UDP's silence */
	CAUSE_NAME,	      /* does not resolve */
	CAUSE_LOCAL,	      /* errno of this host */
	CAUSE_INTERRUPTED,    /* before an answer, or its lack, was known */
	CAUSE_RP_FILTER,      /* that host's reverse-path filter counted it */
	CAUSE_OWN_RP_FILTER,  /* the answer came, and this host's filter dropped it */
	CAUSE_WAY_BACK,	      /* it arrived, and the answer left through another interface */
	CAUSE_LOST_ANSWER,    /* it arrived, the answer left as it should, and did not come back */
	CAUSE_OWN_ANSWER,     /* it arrived, and this host's own firewall drops the answer */
	CAUSE_THEIR_ANSWER,   /* it arrived, and that host's firewall does not let the answer out */
	CAUSE_OTHER_WAY,      /* this host sends it through another interface, and it is lost */
	CAUSE_DOWN,	      /* silence of a neighbour whose card has not been heard either */
	CAUSE_NOT_SEEN,	      /* nobody has answered for that address so far */
	CAUSE_RESET,	      /* refused where one of ours listens */
	CAUSE_IMPOSTOR,	      /* accepted there, and not by ours */
	CAUSE_NO_WAY_BACK,    /* silence of a host that has no route to who asks */
	CAUSE_BULK,	      /* small messages pass, bulk does not, but in smaller packets */
	CAUSE_NO_BULK,	      /* nor in those */
	CAUSE_TRICKLE,	      /* bulk begins to pass, and stalls */
	CAUSE_OWN_ND,	      /* this host's own rules drop IPv6's questions for neighbours */
	CAUSE_THEIR_ND,	      /* that host's do */
	CAUSE_NOT_SEEN6,      /* nobody has answered such a question for that address */
	CAUSE_TIMESTAMPS,     /* silence, with that option of TCP alone */
	CAUSE_SCALING,
	CAUSE_SACK,
	CAUSE_ROUTER,	   /* this host sends it to a router, and it is of its own network */
	CAUSE_ROUTER_BACK, /* it arrived, and that host sends the answer to a router */
	CAUSE_OWN_LINK,	   /* the card of this host that it leaves by has no link */
	CAUSE_PATHS,	   /* from some ports it is answered, from others never */
	CAUSE_COUNTED,	   /* other ports of it were answered, and late */
	CAUSE_LINK,	   /* what is said of a host's card or netmask explains it */
	CAUSE_COUNT
};
/* Somebody answers in the name of one of ours. */
static inline bool port_cause_is_stranger(enum port_cause c)
{
	return c == CAUSE_RESET || c == CAUSE_IMPOSTOR;
}
const char *port_cause_text(enum port_cause c); /* a sentence's end; NULL for CAUSE_NONE */
/* Something drops what has an option of TCP: the line that leaves it out; NULL: it is not that. */
const char *port_cause_option(enum port_cause c);
/* One letter each, for what one of our processes tells another. */
char port_state_letter(enum port_state s);
char port_cause_letter(enum port_cause c);
/* -1: not a letter of ours. */
int port_state_of_letter(char letter);
int port_cause_of_letter(char letter);

struct port_verdict {
	enum port_state state;
	enum port_cause cause;
};
/* @is_ours: is this address one of this host? */
struct port_verdict port_verdict(const struct scan_probe *p, bool udp,
				 bool (*is_ours)(const union addr *a, void *arg), void *arg);

#endif
