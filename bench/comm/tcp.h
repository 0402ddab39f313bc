#ifndef BENCH_COMM_TCP_H
#define BENCH_COMM_TCP_H
/*
 * The built-in communicator: host memory over TCP, every rank connected to
 * every other, no dependency. It is the default where there is no GPU and it is
 * always labelled as what it is.
 *
 * How the ranks meet is the caller's affair: @exchange gathers one small blob
 * from every rank (rdzv_all_gather() has this shape). A connection first shows
 * the 128-bit key that its acceptor published there, compared in constant time
 * before anything else of it is read; a stranger costs nothing.
 *
 * Sockets keep the system's congestion control: a figure is only worth
 * something beside the name of it, which comm_transport() has.
 */
#include "bench/comm/comm.h"
#include "lib/net/addr.h"

enum { TCP_SOCKETS_MAX = 8 };

struct tcp_opts {
	int rank, size;
	union addr at;	      /* the address to use and to tell the others; no port */
	const char *device;   /* the interface that @at is of, to be left by no other; NULL: any */
	const char *host;     /* names of this rank in messages */
	unsigned sockets;     /* per pair of ranks; 0: chosen here, by rank 0 */
	uint64_t deadline_ns; /* the longest time without progress; 0: 10 s */
	/* Somebody said so: it ends when it was to end. Else what passed while this process did
	 * not run (its machine stood still) says nothing about the others, and does not count. */
	bool deadline_given;
	int stop_fds[2]; /* readable: give up (Ctrl-C, bad news); -1: none */
	int (*exchange)(void *arg, const void *mine, size_t n, void *all, struct err *e);
	void *arg;
};

/*
 * Returns when every rank is connected to every other one. NULL with @e filled;
 * *ret_culprit is the rank that it was waiting for or could not reach, else -1.
 */
struct comm *tcp_comm_new(const struct tcp_opts *o, int *ret_culprit, struct err *e) MUST_CHECK;

#endif
