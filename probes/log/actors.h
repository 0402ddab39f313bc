#ifndef PROBES_LOG_ACTORS_H
#define PROBES_LOG_ACTORS_H
/*
 * The processes that speak in a log, and what each said about itself: which
 * network it chose, which addresses it offered to the others, how far it got.
 * Bounded: what comes after ACTORS_MAX processes or OFFERS_MAX addresses is
 * not told apart any more.
 */
#include "lib/core/arena.h"
#include "probes/log/line.h"

enum { ACTORS_MAX = 16384, OFFERS_MAX = 8192, CARDS = 32 /* of one process */, TEXTS_MAX = 64 };

struct actor {
	struct log_who who;
	int nranks;	  /* of the largest communicator it joined; 0: not said */
	char network[24]; /* "Socket", "IB", "AWS Libfabric" */
	char version[24]; /* of NCCL, or of RCCL */
	bool is_rccl;
	char boot[32]; /* the bootstrap interface */
	/* its RDMA ports, "mlx5_0:1 mlx5_1:1 ", and NCCL_IB_HCA; NULL: not said. The same text is
	 * the same pointer. */
	const char *ports, *hca;
	bool ready;	    /* Init COMPLETE was said */
	uint64_t gpu, comm; /* that communicator's bus and own number; 0: not said */
	/* how many events of all there were (struct why) when it last chose a network, was ready */
	uint64_t network_at, ready_at;
	uint32_t direct, bounced; /* channels over NET/IB with and without GDRDMA */
	uint32_t p2p, shm;	  /* ... to GPUs of its host, through that host's memory */
	uint32_t cards;		  /* those of its channels over sockets, a bit each */
	int64_t seq;		  /* of the collective that timed out; -1: none did */
	enum clock_kind clock;	  /* of the line that says so, ... */
	int64_t gave_up_ms;	  /* ... and when that was */
	int64_t begun, ended;	  /* the latest collectives of the whole world; -1: not said */
	char op[24];
	long numel;	   /* elements that went into it; -1: not said */
	char group[24];	   /* torch's unique name of its process group */
	const char *place; /* that it waits in: "train.py line 9, in step"; NULL: not said */
	uint16_t next;	   /* of the same hash */
};

struct offer {
	uint16_t actor;
	int8_t card; /* its number in the list; -1: none was said */
	char iface[24], addr[64];
};

struct actors {
	struct arena *a;
	LIST(struct actor) v;
	LIST(struct offer) offers;
	uint16_t *heads;
	size_t nhosts;
	const char *hosts[64]; /* the first ones seen */
	str_list texts;	       /* of ports and hca, each once; the first TEXTS_MAX */
};

void actors_init(struct actors *t, struct arena *a);
/* The one that speaks; NULL when it did not say who it is, or the table is full. */
struct actor *actors_get(struct actors *t, const struct log_who *who);
/* As NCCL writes them: "[0]ens3:10.0.0.5<0> [1]br-1:172.19.0.1<0>"; what is no such list adds none.
 */
void actors_offer(struct actors *t, const struct actor *who, const char *list);
/* The one text that is equal to it; NULL: it is one too many. */
const char *actors_text(struct actors *t, const char *text);
/* Who offered @addr, or NULL. */
const struct offer *actors_offered(const struct actors *t, const char *addr);
/* Of @host, whose address has the same first three numbers as the IPv4 @addr; NULL: none has. */
const struct offer *actors_near(const struct actors *t, const char *host, const char *addr);
/* What @who offered on its card of that number, or NULL. */
const struct offer *actors_card(const struct actors *t, const struct actor *who, int card);
/* Those that timed out in a collective, and how many ranks there are. */
struct waiters {
	int n, nranks;
	const struct actor *behind; /* the lowest number; NULL: nobody waited */
};
struct waiters actors_waiting(const struct actors *t);
/* " (train.py line 9, in step)", "": where it was is not known. */
const char *actor_place_text(struct arena *a, const struct actor *p);
/* Both may have timed out in one process group: torch does not say it on every line. */
bool actors_share_group(const struct actor *p, const struct actor *q);
/* Is that the process which speaks there? */
bool actor_is(const struct actor *a, const struct log_who *who);
/* Each communicator that is known has one rank, and some is ready: no network is needed. */
bool actors_alone(const struct actors *t);
/* "rank 3 on node1", "node1", "rank 3", "local rank 3, attempt 0", or "a rank". */
const char *who_text(struct arena *a, const struct log_who *who);

#endif
