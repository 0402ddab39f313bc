#ifndef BENCH_SWEEP_HARDWARE_H
#define BENCH_SWEEP_HARDWARE_H
/*
 * What this host's network should be able to do: the speed that the card with our address
 * reports, or those of the RDMA cards that NCCL said it uses, and in a cloud the instance
 * type. The metadata service is asked on a thread while the ranks connect, by one rank of
 * each host; in no cloud nothing is sent.
 */
#include "bench/comm/place.h"
#include "lib/host/cloud.h"
#include "lib/host/rdma.h"

#include <pthread.h>

enum { HARDWARE_CARDS = 16 };
struct hardware_card {
	char name[48]; /* "mlx5_0:1", "rocep216s0f0+rocep216s0f1" */
	float gbps;    /* 0: not known */
};
struct hardware {	   /* of the host of a rank; it travels between ranks */
	double nic_gbps;   /* of the cards that carry its data; NAN: not known */
	char instance[48]; /* only its first rank's; "": not known */
	char host[64], machine[COMM_PLACE_TEXT];
	struct hardware_card cards[HARDWARE_CARDS]; /* RDMA, of this rank; nameless: no more */
	uint32_t is_used; /* not 0: channels went over them; else only listed */
	int gpus;	  /* NVIDIA's, whoever uses them; 0: not known */
};

/*
 * The cards that @transport, comm_transport()'s words, ends with, "...; cards mlx5_0:1 mlx5_1:1"
 * or "; cards listed ...", with what their ports in @all reach. nic_gbps is not known any more
 * where data goes, or may go, by other cards than that of our address.
 */
void hardware_cards(struct hardware *h, const char *transport, const rdma_list *all);
/*
 * Of all @n ranks: where RDMA cards carry the data nic_gbps becomes that of all cards of a host:
 * those that channels of its ranks were seen on, or, where none was seen yet, of those listed one
 * for each of its ranks, for so many it uses in any case.
 */
void hardware_add_up(struct hardware *all, size_t n);

/* Gb/s; NAN: not known. A virtual card makes its speed up. */
double hardware_nic_gbps(const union addr *at, struct arena *a);

/* NVIDIA's GPUs in this host; 0: none, or not known. */
int hardware_gpus(struct arena *a);

struct hardware_ask { /* zero: not started */
	pthread_t thread;
	bool is_running;
	struct arena a; /* the thread's, then ours */
	struct cloud cloud;
};
enum { HARDWARE_ASK_MS = 300 }; /* the longest */

/* Without a thread to be had nothing is asked. */
void hardware_ask(struct hardware_ask *q);
/* Waits for it. The instance type, or NULL; @q's own text. */
const char *hardware_answer(struct hardware_ask *q);
void hardware_ask_done(struct hardware_ask *q);

#endif
