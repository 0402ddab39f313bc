#ifndef LIB_CLUSTER_RDZV_CORE_H
#define LIB_CLUSTER_RDZV_CORE_H
/*
 * The rendezvous without sockets and clocks: messages and times go in,
 * messages come out through @send, so that a test can play ten thousand ranks
 * against it. Private to lib/cluster/rdzv_*.c and their tests.
 *
 * rdzv_core.c joins, refuses and ends; rdzv_keys.c keys and values;
 * rdzv_meet.c meetings and pages; rdzv_watch.c deaths, silence and deadlines;
 * rdzv_say.c the sentences.
 */
#include "lib/cluster/rdzv_messages.h"
#include "lib/cluster/rendezvous.h"
#include "lib/core/silence.h"

enum { RDZV_STORE_MAX = 256 << 20 }; /* bytes of all keys, and of one meeting */

/* One connection; the owner of the core embeds it in its own. */
struct rdzv_peer {
	int rank;  /* -1: has not joined */
	bool deaf; /* refused, or has left: nothing it says counts */
};

struct rdzv_key;
struct rdzv_seat {
	struct rdzv_member m;
	struct rdzv_peer *peer; /* NULL: not connected */
	struct silence silence;
	uint64_t lost_ns;     /* the first sign of its death; 0: none */
	const char *reported; /* what its agent saw; NULL: nothing */
	uint32_t meets;	      /* the last meeting that it came to */
	uint32_t get_id;
	bool told;		      /* came after the run had failed, and was told why */
	struct rdzv_key *wants;	      /* what it waits for */
	struct rdzv_seat *next_wants; /* who waits for the same */
};

/* What all ranks bring to one meeting, in rank order. */
struct rdzv_table {
	uint32_t seq;
	unsigned char *data;
	size_t n; /* in all */
};

struct rdzv_core {
	/* set by the owner before rdzv_core_init() */
	int size;
	const char *run;
	const char *const *hosts;
	uint64_t join_deadline_ns, heartbeat_ns;
	bool deadline_given; /* as in struct rdzv_server_opts */
	void (*send)(struct rdzv_core *c, struct rdzv_peer *p, uint16_t type, const void *data,
		     size_t n);
	void (*close)(struct rdzv_core *c, struct rdzv_peer *p); /* what was sent goes first */

	/* to look at */
	struct rdzv_seat *seats;
	int joined, gone; /* gone: of those that joined */
	int told;	  /* of those that did not */
	int unjoined;	  /* whose end before it joined is the failure; -1: nobody's */
	bool ready;
	uint64_t due_ns;		/* when rdzv_core_tick() wants to be called */
	char failure[RDZV_SAY_MAX + 1]; /* "": healthy */
	enum rdzv_why why;		/* of that */

	/* private */
	struct arena a;
	uint64_t now_ns;
	struct silence still; /* since the last join, or the last to come to a meeting */
	uint64_t slept_ns;    /* of it, where that counts */
	unsigned refused;
	char last_refusal[RDZV_SAY_MAX + 1];
	int first_free;			/* no rank below is free */
	struct rdzv_table meet, met[2]; /* now; the members; the last one */
	size_t blob_n;
	int arrived;
	void *keys; /* tsearch(3) */
	size_t store_bytes;
};

void rdzv_core_init(struct rdzv_core *c, uint64_t now_ns);
void rdzv_core_done(struct rdzv_core *c);
/* -1: nothing that one of ours would say; close the connection. */
int rdzv_core_message(struct rdzv_core *c, struct rdzv_peer *p, uint16_t type, const void *data,
		      size_t n, uint64_t now_ns) MUST_CHECK;
/* The connection is gone; the owner may free @p. */
void rdzv_core_closed(struct rdzv_core *c, struct rdzv_peer *p, uint64_t now_ns);
void rdzv_core_report_exit(struct rdzv_core *c, int rank, const char *cause, uint64_t now_ns);
/*
 * The clock, before anything is judged by it. What we did not hear because we did not run (Ctrl-Z,
 * a machine that stood still) is nobody's silence; so that it is noticed, we look often.
 */
void rdzv_core_now(struct rdzv_core *c, uint64_t now_ns);
void rdzv_core_look_soon(struct rdzv_core *c);
void rdzv_core_moved(struct rdzv_core *c); /* somebody joined, or came to a meeting */
/* Looks at the clock and at who is missing. */
void rdzv_core_tick(struct rdzv_core *c, uint64_t now_ns);
bool rdzv_core_finished(const struct rdzv_core *c);
/* The run has failed, and there is nobody left who has not heard of it. */
bool rdzv_core_all_told(const struct rdzv_core *c);

/* ---- between these files ---- */
void rdzv_send_text(struct rdzv_core *c, struct rdzv_peer *p, uint16_t type, const char *s);
/* The first one counts. */
void rdzv_fail(struct rdzv_core *c, enum rdzv_why why, const char *fmt, ...) PRINTF(3, 4);
void rdzv_seat_gone(struct rdzv_core *c, struct rdzv_seat *s, const char *cause);
/* Everybody knows everybody: the table of meeting 0. */
void rdzv_core_ready(struct rdzv_core *c);
int rdzv_on_set(struct rdzv_core *c, struct rdzv_seat *s, struct wire_in *w) MUST_CHECK;
int rdzv_on_get(struct rdzv_core *c, struct rdzv_seat *s, struct wire_in *w) MUST_CHECK;
int rdzv_on_meet(struct rdzv_core *c, struct rdzv_seat *s, struct wire_in *w) MUST_CHECK;
int rdzv_on_pull(struct rdzv_core *c, struct rdzv_seat *s, struct wire_in *w) MUST_CHECK;
int rdzv_on_ask(struct rdzv_core *c, struct rdzv_seat *s, struct wire_in *w) MUST_CHECK;
void rdzv_forget_keys(struct rdzv_core *c);
void rdzv_stop_waiting(struct rdzv_seat *s);

/* "rank 3 (node1, 10.0.0.2)" */
const char *rdzv_who(const struct rdzv_core *c, int rank, struct arena *a);
/* "ranks 1-3,7 of 8 (n[1-2])": those for whom @is says so; NULL: nobody */
const char *rdzv_which(const struct rdzv_core *c, bool (*is)(const struct rdzv_core *, int rank),
		       struct arena *a);
/* Why @m cannot join, or NULL. */
const char *rdzv_objection(const struct rdzv_core *c, const struct rdzv_join_msg *m,
			   uint32_t protocol, struct arena *a);
bool rdzv_is_alike(const struct rdzv_join_msg *m, uint32_t protocol); /* one version */
bool rdzv_is_other_run(const struct rdzv_core *c, const struct rdzv_join_msg *m);
/* Who has not joined for how long, and what was refused meanwhile. */
/* For how long, and what of it is nobody's fault. */
const char *rdzv_idle(const struct rdzv_core *c, uint64_t idle_ns, struct arena *a);
const char *rdzv_missing(const struct rdzv_core *c, uint64_t waited_ns, struct arena *a);

#endif
