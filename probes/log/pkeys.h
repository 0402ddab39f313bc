#ifndef PROBES_LOG_PKEYS_H
#define PROBES_LOG_PKEYS_H
/*
 * Which InfiniBand partitions (P_Key) the ports of hosts are in, where somebody read that of
 * several hosts: "pdsh -w n[1-3] cat .../ports/1/pkeys/0" prints "n1: 0x8012"; cat at a prompt of
 * each, or by ssh, prints "0x8012", uniq -c with a count, and grep the file before it. With the
 * highest bit a host is a full member, without it a limited one, and two limited ones do not reach
 * each other. Bounded.
 */
#include "probes/log/line.h"

struct why;
struct why_stream;

enum { PKEYS_MAX = 64 };

struct pkeys {
	struct pkey {
		char host[64];
		unsigned key;
	} v[PKEYS_MAX];
	unsigned n;
	char host[64]; /* whose is read, where no line says it; "": not known */
};

void pkeys_hear(struct why *w, struct why_stream *s, const struct log_line *l);
/* A line behind. False: the table has ended. */
bool pkeys_next(struct why_stream *s, const struct log_line *l);
/* A host that is not in a partition of another one's, and shares none in which they reach each
 * other but the one that all are in; @ret_of: that other one, and its key. */
const char *pkeys_lacks(const struct pkeys *t, const struct pkey **ret_of);
/* A host that shares partitions with another one, and both are limited members of all of these;
 * @ret_of: that one, and such a key. */
const char *pkeys_limited(const struct pkeys *t, const struct pkey **ret_of);

#endif
