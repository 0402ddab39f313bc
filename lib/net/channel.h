#ifndef LIB_NET_CHANNEL_H
#define LIB_NET_CHANNEL_H
/*
 * A secure message channel over one nonblocking socket in an event loop. The
 * owner embeds struct channel, zeroed, sets the calls it wants and gets: open
 * (the peer proved itself), message, closed (exactly once, also for a failed
 * connect, always from the loop and never from within a function below). A
 * connect and proof that take longer than @deadline_ns close it. Output is
 * queued up to a bound; a peer that does not read is closed. Writing never
 * raises SIGPIPE. Any call may drop or finish its channel, and free what
 * embeds it once it was dropped or closed; @on_closed may connect it anew.
 *
 *	c->on_closed = lost;
 *	if (channel_connect(c, &loop, &to, &token, 5 * NS_PER_S, e))
 *		return -1;
 */
#include "lib/net/addr.h"
#include "lib/net/loop.h"
#include "lib/net/secure.h"
#include "lib/net/wire.h"

#include <sys/queue.h>

enum { CHANNEL_QUEUE_MAX = 8 << 20, LISTENER_UNPROVEN_MAX = 512 };

struct channel {
	/* set by the owner */
	void (*on_open)(struct channel *c);
	/* -1: makes no sense; close it. */
	int (*on_message)(struct channel *c, uint16_t type, const void *data, size_t n);
	/* @why->kind is ERR_NONE where either side finished in order. */
	void (*on_closed)(struct channel *c, const struct err *why);
	size_t max_queue;     /* bytes of output waiting; 0: CHANNEL_QUEUE_MAX */
	struct listener *via; /* before channel_accept(): counts it among the unproven ones */

	/* to look at; they keep their values for on_closed */
	union addr peer;
	bool connecting, open, closing;
	bool ended; /* the peer finished in order, and nobody can have forged that */
	int error;  /* errno behind a close, ETIMEDOUT: the deadline; 0: the peer closed it */

	/* private */
	struct io io;
	struct timer timer; /* armed as long as the channel lives */
	struct loop *loop;  /* NULL: not alive */
	struct secure *secure;
	uint64_t deadline_ns;
	const char *doom; /* why it ends as soon as the loop comes round */
	bool wants_out, shut, broken, held;
	bool *gone; /* where to say so when it is dropped by a call of its own */
	TAILQ_ENTRY(channel) unproven;
};

/* -1: this host could not even try, and on_closed is not called; the network's no comes there. */
int channel_connect(struct channel *c, struct loop *l, const union addr *to, const struct token *t,
		    uint64_t deadline_ns, struct err *e) MUST_CHECK;
/* Takes over @fd, also when it fails. */
int channel_accept(struct channel *c, struct loop *l, int fd, const struct token *t,
		   uint64_t deadline_ns, struct err *e) MUST_CHECK;
/* -1: not open (on_closed comes or has come), too long, or the queue is full (on_closed comes). */
int channel_send(struct channel *c, uint16_t type, const void *data, size_t n) MUST_CHECK;
/* Sends what is queued (at most @linger_ns), then closes. No more messages come. */
void channel_finish(struct channel *c, uint64_t linger_ns);
/* Now, and what is queued is lost; on_closed is not called. No-op when not alive. */
void channel_drop(struct channel *c);

/*
 * A listening socket: address any or given ("::" takes IPv4 too), port 0 takes
 * a free one. Of its connections at most @max_unproven at a time may still owe
 * their proof: the oldest of them makes room. Running out of descriptors costs
 * the oldest too, or a pause, never a busy loop.
 */
TAILQ_HEAD(unproven, channel);
struct listener {
	/* set by the owner; on_accept owns @fd */
	void (*on_accept)(struct listener *s, int fd, const union addr *from);
	unsigned max_unproven; /* 0: LISTENER_UNPROVEN_MAX */

	struct io io;
	struct loop *loop; /* NULL: closed */
	union addr at;	   /* with the port in use */

	/* private */
	struct timer pause;
	struct unproven unproven; /* oldest first */
	unsigned nunproven;
};
int listener_open(struct listener *s, struct loop *l, const union addr *at,
		  struct err *e) MUST_CHECK;
/* On every address of this host, of both families or, where there is no IPv6, of IPv4. */
int listener_open_any(struct listener *s, struct loop *l, uint16_t port, struct err *e) MUST_CHECK;
void listener_close(struct listener *s); /* its channels live on */

/* --- between channel.c and listener.c ------------------------------------- */
void channel_doom(struct channel *c, const char *why, int error); /* @why: static, of the peer */
void listener_hold(struct listener *s, struct channel *c);
void listener_release(struct listener *s, struct channel *c);

#endif
