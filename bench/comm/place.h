#ifndef BENCH_COMM_PLACE_H
#define BENCH_COMM_PLACE_H
/* Where a rank is: what ranks of every backend tell each other before they connect. */
#include "lib/core/base.h"

enum { COMM_PLACE_TEXT = 64 };
struct comm_place { /* travels as it is */
	char host[COMM_PLACE_TEXT];
	char machine[COMM_PLACE_TEXT]; /* boot id: equal where processors are shared */
	uint32_t pid;
};

/* @host: our name; NULL: "localhost". */
struct comm_place comm_place_here(const char *host);
void comm_place_end(struct comm_place *p); /* its texts end: it came over a network */
bool comm_place_is_beside(const struct comm_place *a, const struct comm_place *b);

#endif
