#ifndef LIB_CLUSTER_AGENT_H
#define LIB_CLUSTER_AGENT_H
/*
 * Between launch_*.c, agent*.c and join.c: what a launcher and its agents say
 * to each other, over a pair of pipes or a sealed channel, and the streams
 * that an agent carries from its ranks to the rendezvous server.
 */
#include "lib/cluster/world.h"
#include "lib/core/bytes.h"
#include "lib/net/channel.h"

enum {
	AGENT_PROTOCOL = 6,
	AGENT_CHUNK = 16 << 10,
	AGENT_CREDIT = 512 << 10, /* bytes of output that may be on their way */
	AGENT_PING_S = 5,
	AGENT_RANKS_MAX = 4096,
	LINK_QUEUE_MAX = 64 << 20, /* bytes of messages that the other side has not taken */
	AGENT_KILLED = 128, /* its exit code where a signal ended the half that works: 128 + 9 */
};

enum agent_message {
	/* to an agent */
	ORDER_START = 1, /* struct agent_orders */
	ORDER_SIGNAL,	 /* u32: to every rank */
	ORDER_END,	 /* end them: SIGTERM, a second later SIGKILL */
	ORDER_CREDIT,	 /* u32: so many bytes of output were written */
	ORDER_PING,
	/* from it */
	SAY_HELLO, /* u32 protocol, strings: version, host name, data address, why not, its fix */
	SAY_OUT,   /* u32 rank here, bytes to the end */
	SAY_ERR,
	SAY_EXITED,  /* u32 rank here, status, signal, string: what is known of that, or "" */
	SAY_TROUBLE, /* strings: why ranks cannot be started, what lets them */
	/* both ways: u32 id, and for data bytes to the end */
	STREAM_OPEN,
	STREAM_DATA,
	STREAM_CLOSE,
	/* between a launcher and who joined, where a person sits */
	ORDER_REFUSED, /* string: why it takes no part */
	ORDER_OVER,    /* u32: the run's exit code */
	SAY_LEFT,      /* u32: the signal by which that person ends it */
};

/* ---- a link: messages over two descriptors or over a channel ---- */
struct link {
	/* set by the owner */
	int (*on_message)(struct link *l, uint16_t type, struct wire_in *in); /* -1: nonsense */
	void (*on_closed)(struct link *l, const char *why); /* once, from the loop */
	const char *asks; /* what may come before the greeting, NULL: nothing */
	void (*on_asked)(struct link *l);

	struct channel channel; /* over a network: the owner connects or accepts it */
	struct loop *loop;
	struct io in, out; /* pipes; fd -1: none */
	bool networked, closed, greeted, wants_out, handing;
	struct bytes got, queue;
	const unsigned char *raw;
	size_t raw_n;
	const char *doom; /* it is to be closed, from the loop, because; NULL: it goes on */
	struct timer end;
	char noise[160]; /* how that begins which came in place of the greeting */
};

/* Takes over both descriptors. @greeting: text that comes before the first message; what a
 * login script prints before it is skipped. */
int link_open(struct link *l, struct loop *loop, int in, int out, bool greeting,
	      struct err *e) MUST_CHECK;
/* Sets the calls of l->channel, before it is connected or accepted. */
void link_over_channel(struct link *l, struct loop *loop);
/* Closed: no-op. Where too much waits already, or there is no memory, it is closed from the loop.
 */
void link_send(struct link *l, uint16_t type, const void *data, size_t n);
void link_sendf(struct link *l, uint16_t type, uint32_t id, const void *data, size_t n);
/* On pipes: bytes as they are, before any message; they stay the caller's. */
void link_send_raw(struct link *l, const void *data, size_t n);
void link_drain(struct link *l); /* hands out what has arrived, without waiting */
void link_close(struct link *l); /* on_closed is not called; no-op when closed */
const char *link_greeting(void);

/* ---- streams through a link ---- */
struct streams {
	struct link *link;
	struct loop *loop;
	struct stream *first;
	uint32_t last_id;
	unsigned n;
};
/* Takes over @fd (connected or connecting, not blocking). id 0: a new one, and the other side is
 * told. */
int stream_new(struct streams *s, int fd, uint32_t id, struct err *e) MUST_CHECK;
/* Ends the oldest whose owner has said nothing yet. False: there is none. */
bool streams_make_room(struct streams *s);
/* STREAM_DATA and STREAM_CLOSE */
int streams_message(struct streams *s, uint16_t type, struct wire_in *in);
void streams_done(struct streams *s);

/* ---- orders ---- */
struct agent_orders {
	const char *command; /* a program in the agent's own folder */
	str_list args, env;
	int first, count, size; /* ranks */
	int node, nodes;
	uint16_t port;	       /* of the server on the agent's own loopback; 0: through the link */
	const char *data_addr; /* NULL or "": what the agent finds, */
	const char *peer;      /* towards this address, of the family that most hosts have */
	const char *run;       /* the same for all ranks of a run */
	struct token token;
};
/* malloc'ed; NULL: too long. */
unsigned char *orders_pack(const struct agent_orders *o, size_t *ret_n);
int orders_unpack(struct wire_in *in, struct arena *a, struct agent_orders *ret);

/* ---- the agent ---- */
int agent_main(int in, int out); /* exit code */
/* @to: the addresses of one name, tried in turn. Exit code or -1. */
int agent_joined(const addr_list *to, const struct token *t, struct err *e);
/*
 * The address that others reach this host at, as seen from @peer (NULL: no hint). Of the family
 * in NCCL_SOCKET_FAMILY where there is one, as NCCL would: whom it is set for can be reached by
 * no other. NCCL_SOCKET_IFNAME is not followed: which interface it should be is what we tell.
 */
const char *agent_data_addr(const union addr *peer, struct arena *a);
const char *agent_own_path(struct arena *a);
/* Of its two processes (agent.c): who hears of a Ctrl-C, and who ends with whom. */
void agent_hear_interrupts(bool joined, pid_t worker);
void agent_end_with(pid_t parent);
bool agent_is_child(void); /* does whoever started us want us to end with it? */
/* Kills and reaps whatever was left to us as a subreaper. */
void agent_reap_all(void);

int join_main(int argc, char **argv, struct err *e); /* argv[1] is --join; exit code or -1 */
const char *join_line(const char *command, const union addr *at, const struct token *t,
		      struct arena *a);

#endif
