#ifndef PROBES_PORT_QUIET_LINE_H
#define PROBES_PORT_QUIET_LINE_H
/* Private to probes/port/quiet*.c: all connections of one end, and one of them. */
#include "lib/net/channel.h"
#include "probes/port/quiet.h"

#include <pthread.h>
#include <stdatomic.h>

enum { QUIET_HELLO = TALK_HELLO + 8 };

struct quiet {
	struct quiet_opts o;
	struct loop loop; /* the thread's, once there is one */
	struct listener listener;
	struct io end; /* an eventfd: quiet_close() */
	int news;      /* an eventfd: one of the counts below is 0 */
	unsigned char hello[TALK_HELLO];
	size_t lines, number; /* that there are, and that were opened here to fall silent */
	pthread_t thread;
	bool started;
	uint64_t start_ns;
	bool *asked_again; /* [n] */

	/* of the thread, for who waits */
	_Atomic unsigned greeting;	    /* opened here, and not yet silent */
	_Atomic unsigned open[QUIET_TIMES]; /* of each time, from falling silent to the end */
	_Atomic char *said;		    /* [n * 2 * ntimes]: quiet_at() */
	_Atomic char *again;		    /* [n] */
};
static inline _Atomic char *quiet_at(const struct quiet *q, size_t peer, bool opened, size_t time)
{
	return &q->said[(2 * peer + opened) * q->o.ntimes + time];
}

enum quiet_phase {
	QUIET_CONNECTS,
	QUIET_IS_CALLED,   /* and not yet told by whom */
	QUIET_IS_GREETED,  /* and not yet answered */
	QUIET_IS_ANSWERED, /* and not yet known to have heard that, or to have given it up */
	QUIET_IS_SILENT,
	QUIET_HAS_SPOKEN,
};
struct quiet_line {
	struct io io;
	struct timer timer; /* armed as long as it lives */
	struct quiet *q;
	enum quiet_phase phase;
	size_t peer, time;   /* time: q->o.ntimes of the new one, which is used at once */
	bool opened, speaks; /* speaks: this end is the first to, after the silence */
	size_t counts_for;   /* the time of q->open that it is in, or QUIET_BEGUN */
	unsigned char hello[QUIET_HELLO];
	size_t hello_n;
};
/* Opens all that are to be silent with @peer. */
void quiet_call(struct quiet *q, size_t peer);
void quiet_called(struct listener *s, int fd, const union addr *from); /* the listener's */
void quiet_drop(struct timer *t); /* the line whose timer that is, and nothing is said of it */
void quiet_make_hello(const unsigned char secret[TALK_SECRET], unsigned char ret[TALK_HELLO]);

#endif
