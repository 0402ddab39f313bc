#ifndef LIB_CLUSTER_RENDEZVOUS_H
#define LIB_CLUSTER_RENDEZVOUS_H
/*
 * Where the ranks of one run meet. The server is one epoll loop in our
 * launcher or in a child of rank 0; it knows the declared world, who is
 * missing and who died, and tells everybody the same sentence. Ranks join,
 * exchange small values, meet at barriers, and beat.
 *
 * A closed connection means dead, told to all at once (after a moment, in
 * which an agent may know better why); silence for heartbeat_ns means lost, or for as
 * long as a rank asked for when it joined, where that is longer: its machine may be
 * more crowded than the server's. A rank that cannot take part says so instead of
 * joining, and nobody waits for it. At
 * the join deadline the missing ranks are listed. Duplicate ranks, another
 * world size, another version of windsock and "you started N worlds of 1" are
 * recognised, refused and said in so many words; they do not disturb the
 * ranks that are right. A stray connection, a port scan or a wrong token costs
 * nothing and disturbs nothing.
 */
#include "lib/cluster/world.h"
#include "lib/net/channel.h"

/*
 * Why a run or a call failed. A peer that was lost is a word on the cluster, and a finding of
 * whoever asks; that somebody could not do its part, or had enough, says nothing about it.
 */
enum rdzv_why {
	RDZV_UNABLE,	  /* we, or the rendezvous, could not do it: no rank is at fault */
	RDZV_GAVE_UP,	  /* a rank, for a reason of its own, which the sentence has */
	RDZV_LOST,	  /* a rank died, left, is silent or missing; or the rendezvous is */
	RDZV_INTERRUPTED, /* Ctrl-C or a budget, of whichever rank */
};

struct rdzv_member {
	int rank, local_rank;		       /* local_rank -1: not said */
	const char *host, *data_addr, *device; /* "": not said */
	bool joined;

	/* at the server only */
	bool gone, silent; /* silent: gone because nothing was heard of it */
	const char *cause; /* how it ended: "killed by signal 9"; NULL: alive or left in order */
};

/* ---- server ---- */
struct rdzv_server;
struct rdzv_server_opts {
	int size;
	const struct token *token; /* NULL: open */
	const char *run;	   /* another run's ranks are refused; NULL: any */
	const char *const *hosts;  /* of each rank, where the launcher knows them; or NULL */
	uint64_t join_deadline_ns; /* the longest time without a join; 0: 60 s */
	bool deadline_given;   /* it, and the ranks' own, hold however little we ran ourselves */
	uint64_t heartbeat_ns; /* the least that a rank is believed when silent; 0: 10 s */
	union addr at;	       /* with port; port 0: any free one */
	unsigned ports;	       /* so many from there on, the first free one; 0: just that one */
	/*
	 * All have joined, the run failed, or all are gone: look which. It may
	 * stop the loop, not free the server. May be NULL.
	 */
	void (*changed)(struct rdzv_server *s, void *arg);
	void *arg;
};
/* Copies what @o points to but the token. */
struct rdzv_server *rdzv_server_new(struct loop *l, const struct rdzv_server_opts *o,
				    struct err *e) MUST_CHECK;
uint16_t rdzv_server_port(const struct rdzv_server *s);
/*
 * What an agent saw of a rank that it started, more exact than a closed
 * connection: "killed by signal 9", "exit code 3"; NULL: exit code 0.
 */
void rdzv_server_report_exit(struct rdzv_server *s, int rank, const char *cause);
/* Tells everybody @sentence, unless the run has failed already. */
void rdzv_server_fail(struct rdzv_server *s, const char *sentence);
/* NULL while the run is healthy; else the sentence that everybody was told. */
const char *rdzv_server_failure(const struct rdzv_server *s);
/* The rank whose end before it joined is that failure; -1: it is another one, or none. */
int rdzv_server_unjoined(const struct rdzv_server *s);
bool rdzv_server_ready(const struct rdzv_server *s); /* all have joined */
bool rdzv_server_finished(
	const struct rdzv_server *s); /* who had joined is gone, and no more come */
/* It failed, and nobody of its world is left who has not heard why. */
bool rdzv_server_all_told(const struct rdzv_server *s);
const struct rdzv_member *rdzv_server_member(const struct rdzv_server *s, int rank);
void rdzv_server_free(struct rdzv_server *s);

/*
 * A server in a child process, for rank 0 under a foreign launcher. Fork it
 * before this process has threads. It ends by itself when all ranks are gone,
 * and shortly after the process that made it.
 */
struct rdzv_host {
	pid_t pid; /* 0: none */
	uint16_t port;
	int alive; /* the child watches the other end */
};
int rdzv_host_start(struct rdzv_host *h, const struct rdzv_server_opts *o,
		    struct err *e) MUST_CHECK;
void rdzv_host_done(struct rdzv_host *h); /* waits for it, a few seconds at most */

/* ---- rank ---- */
/* What to ask where the host answers and nobody listens. */
#define RDZV_NOBODY                                                                                \
	"nobody listens there: is rank 0 started on it (RANK=0, --rank 0), and no rank twice?"
struct rdzv; /* owns a thread that beats and listens for bad news */
/* One of the addresses that the server's name has, and ours as seen from there. */
struct rdzv_way {
	union addr server; /* with port */
	const char *data_addr;
};
struct rdzv_join_opts {
	union addr server;	       /* with port */
	unsigned ports;		       /* as the server's; each is tried in turn, */
	unsigned first;		       /* and this one first: 0 is the server's own, 1 the next */
	const struct rdzv_way *others; /* more addresses, tried in turn where one does not answer */
	size_t nothers;
	const struct token *token;
	const char *run;
	int rank, size, local_rank;	       /* rank -1: the server gives one */
	const char *host, *data_addr, *device; /* may be NULL */
	uint64_t silence_ns;  /* for so long we may be silent; 0: for as long as the server says */
	const char *excuse;   /* we do not come, and why: rdzv_join() fails once that is said */
	bool hosts;	      /* the server is a child of ours: when it is gone we are at fault */
	uint64_t deadline_ns; /* of every call, without progress; 0: 60 s */
	bool *ret_missing;    /* rdzv_join() failed for RDZV_LOST; may be NULL */
	bool *ret_stale; /* not NULL: it fails at once, with true there, where none of ours answers
			  */
};
/*
 * Returns when all have joined. Retries while the server is not up yet, or is the one of a run
 * that is just ending there. One
 * call at a time from here on; rdzv_failure() may be asked from any thread.
 */
struct rdzv *rdzv_join(const struct rdzv_join_opts *o, struct err *e) MUST_CHECK;
int rdzv_rank(const struct rdzv *r);
uint64_t rdzv_heartbeat_ns(const struct rdzv *r); /* so long may a rank be silent */
/* All with the deadline; -1 with the sentence when somebody died, or after Ctrl-C. */
int rdzv_members(struct rdzv *r, const struct rdzv_member **ret, size_t *ret_n,
		 struct err *e) MUST_CHECK;
int rdzv_set(struct rdzv *r, const char *key, const void *data, size_t n, struct err *e) MUST_CHECK;
/* Waits until somebody sets it. */
int rdzv_get(struct rdzv *r, const char *key, struct arena *a, const void **ret, size_t *ret_n,
	     struct err *e) MUST_CHECK;
int rdzv_barrier(struct rdzv *r, struct err *e) MUST_CHECK;
/* @ret: size blobs of @n bytes in rank order. */
int rdzv_all_gather(struct rdzv *r, const void *data, size_t n, void *ret,
		    struct err *e) MUST_CHECK;
/* NULL, or the sentence; cheap, for inner loops. A pollable fd for waiting ones. */
const char *rdzv_failure(const struct rdzv *r);
int rdzv_failure_fd(const struct rdzv *r);
/* Why, of that sentence; where there is none, of the last call, if that failed. */
enum rdzv_why rdzv_why(const struct rdzv *r);
/* In order (NULL) or with a reason (the others are told that). @r is gone then; may be NULL. */
void rdzv_leave(struct rdzv *r, const char *reason);

#endif
