#ifndef BENCH_COMM_TCP_CARDS_H
#define BENCH_COMM_TCP_CARDS_H
/* Private to bench/comm/tcp*.c: what ranks tell each other before they connect. */
#include "bench/comm/tcp_core.h"

enum { CARD_KEY = 16 };
struct tcp_card {
	unsigned char key[CARD_KEY];
	union addr at;
	struct comm_place place;
	uint32_t sockets;
	uint32_t processors, first_processor; /* that it may use */
	uint32_t allowed;		      /* as many by its mask alone */
	uint32_t paced;			      /* its flows are sent slower than they could be */
	uint64_t budget; /* the control group that leaves it fewer than allowed; 0: none */
};

int card_make(const struct tcp_opts *o, int door, struct tcp_card *ret, struct err *e) MUST_CHECK;
/* Names, who shares our processors, how many sockets. */
void cards_read(struct tcp *t, struct tcp_card *cards);
void cards_describe(struct tcp *t); /* once connected: comm_transport() */

#endif
