#ifndef BENCH_PLUGIN_TRANSPORT_H
#define BENCH_PLUGIN_TRANSPORT_H
/*
 * Which way NCCL really went, from what it prints with NCCL_DEBUG=INFO:
 *	node0:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA
 * A pair is seen by two processes, each with its own end. Pure: text in, pairs out.
 */
#include "lib/core/arena.h"

struct transport_pair {
	int from, to;
	const char *via;	    /* "NET/IB", "NET/Socket", "P2P", "SHM", a plug-in's name */
	bool sent, received;	    /* which of its ends have been seen */
	bool send_gdr, receive_gdr; /* GPUDirect RDMA there */
};
typedef LIST(struct transport_pair) transport_list;

/* Adds what one rank printed. Lines of other kinds are passed over. */
void transport_read(const char *text, size_t n, struct arena *a, transport_list *ret);

/* The RDMA cards of one rank: what NCCL listed ("NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/IB"),
 * and over which of them its channels go. */
enum { TRANSPORT_CARDS = 64 };
struct transport_cards {
	/* "mlx5_0:1"; for two that are one "mlx5_0+mlx5_1", "mlx5_0:1+mlx5_0:2"; NULL */
	const char *names[TRANSPORT_CARDS];
	uint64_t used; /* by number */
};
void transport_cards_read(const char *text, size_t n, struct arena *a, struct transport_cards *ret);
/* "cards mlx5_0:1 mlx5_1:1", "cards listed ..." where no channel was seen; NULL: none. */
const char *transport_cards_text(const struct transport_cards *c, struct arena *a);

enum transport_trouble { TRANSPORT_FINE, TRANSPORT_ONE_SIDED, TRANSPORT_SOCKETS };
/*
 * @rdma: there is an active RDMA port. GPUDirect at one end only halves the
 * speed and says nothing; falling back to sockets does worse. *ret_pair: the first such.
 */
enum transport_trouble transport_judge(const transport_list *l, bool rdma,
				       const struct transport_pair **ret_pair);
/* "NET/IB with GPUDirect (6 pairs), P2P (2 pairs)"; NULL: there are none. */
const char *transport_text(const transport_list *l, struct arena *a);

#endif
