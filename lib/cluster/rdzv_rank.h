#ifndef LIB_CLUSTER_RDZV_RANK_H
#define LIB_CLUSTER_RDZV_RANK_H
/*
 * A rank's end of the rendezvous, between rdzv_rank.c and rdzv_news.c (its
 * thread, which alone touches the loop and the channel) and rdzv_join.c,
 * rdzv_calls.c and rdzv_wait.c (the calls, which post one request at a time and wait for what the
 * thread puts here).
 */
#include "lib/cluster/rdzv_messages.h"
#include "lib/cluster/rendezvous.h"
#include "lib/core/silence.h"

#include <pthread.h>
#include <stdatomic.h>

enum rdzv_state { RDZV_CONNECTING, RDZV_JOINED, RDZV_ALL_HERE, RDZV_OVER };

/* A request on its way to the thread. */
struct rdzv_request {
	bool full;
	uint16_t type;
	void *data; /* malloc'd; the thread frees it */
	size_t n;
};

/* Where the server may be, the first one as asked for. */
struct rdzv_door {
	struct rdzv_way to;
	unsigned tries; /* the thread's own */
	/* why the last one failed, and whether we came too early; locked */
	char trouble[sizeof(((struct err *)0)->msg)];
	bool early;
};

/* The table that a call waits for. */
struct rdzv_reading {
	uint32_t seq;
	unsigned char *into; /* NULL: nobody waits for one, or it is whole */
	size_t n, got;
};

struct rdzv {
	/* constant once the thread runs */
	struct rdzv_join_opts o;
	struct rdzv_door *doors;
	size_t ndoors;
	struct token token;
	struct arena a;
	pthread_t thread;
	int failure_fd;

	/* the thread's own */
	struct loop loop;
	struct channel channel;
	struct io wake;
	struct timer timer;	      /* the next try to connect, then the next beat */
	struct silence silence;	      /* the server's */
	bool was_stranger, was_early; /* whom the last try met */
	size_t door;		      /* the one tried now, */
	unsigned visited; /* so many of its ports this time, and so many times all doors */
	unsigned rounds, strangers; /* strangers: in a row, who were not our rendezvous */

	/* shared, under the lock */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum rdzv_state state;
	int rank;
	bool interrupted;
	struct rdzv_request post;
	struct rdzv_reading table;
	struct {
		uint32_t id;
		bool wanted, there;
		void *data; /* malloc'd */
		size_t n;
	} value;
	struct {
		bool there;
		uint32_t seq;
		uint64_t idle_ns;
		char text[RDZV_SAY_MAX + 1];
	} status;
	uint32_t meets;
	unsigned char *members_raw; /* malloc'd; what meeting 0 left */
	size_t members_raw_n, members_got;
	struct rdzv_member *members;

	/* written before leaving is set */
	unsigned char goodbye[RDZV_SAY_MAX + 16];
	size_t goodbye_n;
	atomic_bool leaving;

	const char *_Atomic failure; /* NULL, or failure_text */
	char failure_text[RDZV_SAY_MAX + 1];
	enum rdzv_why failure_why; /* written before failure is */
	enum rdzv_why call_why;	   /* of the last call, which alone touches it */
};

int rdzv_thread_start(struct rdzv *r, struct err *e) MUST_CHECK;
void rdzv_thread_end(struct rdzv *r); /* sends goodbye, waits for it */
void rdzv_wake(struct rdzv *r);	      /* there is something in post */

/* ---- in the calls; all but the first with the lock held ---- */
void rdzv_lock(struct rdzv *r);
void rdzv_unlock(struct rdzv *r);
uint64_t rdzv_deadline(uint64_t delay_ns);
bool rdzv_wait_until(struct rdzv *r, uint64_t at_ns);	  /* for any news; false: it is time */
int rdzv_check(struct rdzv *r, struct err *e) MUST_CHECK; /* -1 when nothing more can come */
/* -1: what others should have done has not come in time. */
int rdzv_in_vain(struct rdzv *r, struct err *e, const char *fmt, ...) PRINTF(3, 4);
int rdzv_post(struct rdzv *r, uint16_t type, const void *data, size_t n, struct err *e) MUST_CHECK;
/* Until meeting @seq is @over, as long as others keep coming to it. */
int rdzv_wait_meeting(struct rdzv *r, uint32_t seq, bool (*over)(const struct rdzv *r),
		      struct err *e) MUST_CHECK;

/* ---- in the thread ---- */
enum { RDZV_BEATS = 4 }; /* in the time that silence may last */
void rdzv_news(struct rdzv *r, enum rdzv_state state);
void rdzv_broken(struct rdzv *r, enum rdzv_why why, const char *sentence); /* the first counts */
void rdzv_stranger(struct rdzv *r, const char *why); /* this is not our rendezvous */
void rdzv_early(struct rdzv *r, const char *why);    /* it is that of the run before ours */
void rdzv_arm(struct rdzv *r, uint64_t delay_ns);
int rdzv_on_news(struct channel *c, uint16_t type, const void *data, size_t n);

#endif
