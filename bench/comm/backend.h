#ifndef BENCH_COMM_BACKEND_H
#define BENCH_COMM_BACKEND_H
/*
 * Who can carry collectives: tcp, which is part of this program, or a plug-in
 * ($(O)/lib/windsock/NAME.so) that exports one struct comm_plugin under the name
 * `windsock_comm`. Everything above works with any of them.
 *
 *	b = backend_find("nccl", a, e);
 *	if (b->probe && b->probe(&w, text, sizeof(text), e)) ... what is missing: ERR_ABSENT
 *	dev = b->dev_new(&w, e);
 *	comm = b->comm_new(&w, dev, &culprit, e);
 */
#include "bench/comm/comm.h"
#include "bench/dev/dev.h"
#include "lib/core/arena.h"
#include "lib/net/addr.h"

#define COMM_PLUGIN_VERSION 11

/* Where NCCL refuses GPUs that two ranks have. */
#define COMM_OWN_GPU                                                                               \
	"- give each rank its own GPU: CUDA_VISIBLE_DEVICES per rank, and unset NCCL_HOSTID "      \
	"(ncclbench sets it where ranks have to share one)"

/* Who we are, and how to meet the others before there is a communicator. Outlives it. */
struct comm_world {
	int rank, size, local_rank, local_size;
	union addr at;	     /* the address that others reach this rank at; no port */
	const char *host;    /* names this rank in messages */
	unsigned sockets;    /* tcp: connections per pair of ranks; 0: chosen there */
	const char *library; /* --nccl PATH; NULL: where PyTorch would find it */
	unsigned registers; /* nccl: 1 comm_register() is with the network, 2 as symmetric memory */
	bool calls_block;   /* nccl: they may, as they do in PyTorch and nccl-tests */
	uint64_t deadline_ns; /* of every phase: the longest time without progress */
	bool deadline_given;  /* as in struct tcp_opts */
	int stop_fds[2];      /* readable: give up (Ctrl-C, bad news); -1: none */
	/* Gathers a blob of @n bytes from each rank, in rank order. Collective. */
	int (*exchange)(void *arg, const void *mine, size_t n, void *all, struct err *e);
	void *arg;
};

struct comm_finding { /* what a communicator knows to be wrong with the way it goes */
	const char *check, *subject, *message, *fix;
	bool warns; /* no failure: it is as somebody wanted it, or as it can be here */
};

struct comm_plugin {
	unsigned version; /* COMM_PLUGIN_VERSION; must be first */
	const char *name; /* "nccl" */
	/*
	 * What it would use here, in one line ("NCCL 2.27.3 (/usr/lib/...), driver 570"),
	 * or what is missing, as ERR_ABSENT. Starts nothing. May be NULL.
	 */
	int (*probe)(const struct comm_world *w, char *ret, size_t n, struct err *e);
	/* The memory that its buffers have to be in. */
	struct dev *(*dev_new)(const struct comm_world *w, struct err *e);
	/* What the last failure was about, as the id of a finding ("nccl.init"); NULL: this host.
	 */
	const char *(*failed_check)(void);
	/* Collective, of one that was never split: learns which ways data has gone since, for
	 * comm_transport() and judge(). May be NULL. */
	int (*look)(struct comm *c, struct err *e);
	/* Once there is a communicator, on rank 0: true where it has something to say. */
	bool (*judge)(const struct comm *c, struct comm_finding *ret);
	void (*dev_free)(struct dev *d); /* NULL: nothing to do */
	/* Collective. NULL with @e filled; *ret_culprit: the rank at fault, else -1. */
	struct comm *(*comm_new)(const struct comm_world *w, struct dev *d, int *ret_culprit,
				 struct err *e);
};

extern const struct comm_plugin comm_tcp;
extern const char *const backend_names[]; /* "auto" first, NULL-terminated: for option tables */

/* NULL with ERR_ABSENT: which file, where it was looked for, which package. "auto" is tcp. */
const struct comm_plugin *backend_find(const char *name, struct arena *a, struct err *e) MUST_CHECK;
/* As people write it: "TCP", "Gloo", "MPI", "NCCL". */
const char *backend_word(const char *name);
/* TCP connections of ours between two of many ranks: those for data (0: as many as usual) and
 * one for last words. */
unsigned backend_links(const char *name, uint64_t sockets);

#endif
