#ifndef LIB_NET_PROBE_TCP_H
#define LIB_NET_PROBE_TCP_H
/*
 * Many TCP connects at once, each with a deadline, each pinned to an
 * interface or a source address when asked. Says what the network answered,
 * not whether that is good: a refusal proves reachability.
 *
 * unreachable: a route, a neighbour or a firewall said no (EHOSTUNREACH,
 * EACCES, EPERM ...); filtered: silence until the deadline (ETIMEDOUT);
 * error: this host could not send it (ENODEV, EADDRNOTAVAIL ...).
 */
#include "lib/net/addr.h"
#include "lib/net/loop.h"

enum tcp_state { TCP_PENDING, TCP_OPEN, TCP_REFUSED, TCP_FILTERED, TCP_UNREACHABLE, TCP_ERROR };
const char *
tcp_state_name(enum tcp_state s); /* "open" "refused" "filtered" "unreachable" "error", "pending" */

/* What an errno of connect() says of the network. */
enum tcp_state tcp_state_of(int error);

struct tcp_probe {
	union addr to;		  /* with port; fe80 without a scope takes that of @device */
	const char *device;	  /* SO_BINDTODEVICE, or NULL */
	const union addr *source; /* bind() when device is NULL or not permitted */
	uint64_t deadline_ns;

	enum tcp_state state;
	int error; /* errno behind the state */
	uint64_t took_ns;
	bool bound_to_device; /* false: only the source address was pinned */
	union addr local;     /* the address the kernel used; family 0: not known */

	/* private */
	struct io io;
	struct timer timer;
	uint64_t started_ns;
	struct tcp_probe_run *run;
};

/*
 * Runs all; at most @parallel at a time (0: 256), fewer where descriptors are
 * short. Results are in the probes. After a signal the rest stays TCP_PENDING.
 */
int tcp_probe_all(struct tcp_probe *v, size_t n, size_t parallel, struct err *e) MUST_CHECK;

#endif
