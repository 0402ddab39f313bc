#ifndef PROBES_LOG_PKEYS_H
#define PROBES_LOG_PKEYS_H
/*
 * Which InfiniBand partitions (P_Key) the ports of hosts are in, where somebody read that of
 * several hosts at once: "pdsh -w n[1-3] cat .../ports/1/pkeys/0" prints "n1: 0x8012".
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
};

void pkeys_hear(struct why *w, struct why_stream *s, const struct log_line *l);
/* A host that is not in a partition of another one's; @ret_of: that one, and its key. */
const char *pkeys_lacks(const struct pkeys *t, const struct pkey **ret_of);

#endif
