#ifndef PROBES_LOG_PINGS_H
#define PROBES_LOG_PINGS_H
/*
 * What somebody pinged, of which sizes: where small packets are answered and large ones are lost,
 * the path takes less than the ends believe (an MTU of a tunnel, a black hole).
 */
#include "probes/log/line.h"

struct why;
struct why_stream;

enum { PINGS_MAX = 8 };

struct pings {
	struct ping {
		char addr[64];
		long passed, lost; /* the largest that was answered, the smallest that was not */
	} v[PINGS_MAX];
	unsigned n;
	struct {
		long mtu; /* "message too long, mtu=1500": the least; 0: not said */
		/* who was pinged, and by which interface or from which address; "": not said */
		char addr[64], via[64];
	} told;
	struct ping *now; /* whose answers are read; NULL: of none */
	char via[64];	  /* ... by which interface; "": not said */
	long bytes;	  /* ... and how long each is */
	bool may_split;	  /* sent without -M do: by its own host, where the link takes less */
};

void pings_hear(struct why *w, struct why_stream *s, const struct log_line *l);
/* The first whose large packets alone were lost; NULL: none. */
const struct ping *pings_of_small(const struct pings *t);

#endif
