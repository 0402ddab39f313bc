#ifndef BENCH_COMM_TCP_DOOR_H
#define BENCH_COMM_TCP_DOOR_H
/*
 * Private to bench/comm/tcp*.c: where the ranks above ours come in. Whoever
 * connects is a stranger until it has shown the key of our card, and nothing
 * else of a stranger is looked at. They cannot fill this host: beyond those
 * that are expected there may be a few, and the oldest makes room. A rank that is
 * slow to speak is not sent away for them: each stranger has its time first,
 * and whoever knocks meanwhile waits in the kernel.
 */
#include "bench/comm/tcp_cards.h"
#include "lib/net/loop.h"

enum { WORDS_LANE = 0xffff };
/* The first bytes of a connection. */
struct greeting {
	unsigned char key[CARD_KEY];
	uint32_t rank, lane;
};

struct stranger;
struct tcp_door {
	struct io io;	   /* its descriptor stays the caller's */
	struct timer room; /* armed: it is full, and closed until then */
	struct loop *loop;
	const unsigned char *key;
	size_t expected; /* connections of ours that are still to come: the caller counts */
	struct stranger *strangers;
	size_t nstrangers;
	/* The key was good; @fd is the callee's now. */
	void (*let_in)(struct tcp_door *d, const struct greeting *g, int fd);
	/* This host has run out of something: nobody comes in any more. */
	void (*failed)(struct tcp_door *d, const char *what, int error);
};

/* Connections that are accepted stay with the interface, too. NULL: any. */
int tcp_tie(int fd, const char *device, struct err *e) MUST_CHECK;
/* On a port that the kernel chooses. */
int tcp_door_open(const struct tcp_opts *o, int *ret_fd, struct err *e) MUST_CHECK;
/* Of a door that is zeroed but for its descriptor, key, count and callbacks. */
int tcp_door_watch(struct tcp_door *d, struct loop *l, struct err *e) MUST_CHECK;
void tcp_door_leave(struct tcp_door *d); /* the strangers are sent away */

#endif
