#ifndef LIB_NET_TCP_STATE_H
#define LIB_NET_TCP_STATE_H
/*
 * What the network answered to a TCP connect, not whether that is good: a refusal proves
 * reachability.
 *
 * unreachable: a route, a neighbour or a firewall said no (EHOSTUNREACH,
 * EACCES, EPERM ...); filtered: silence until the deadline (ETIMEDOUT);
 * error: this host could not send it (ENODEV, EADDRNOTAVAIL ...).
 */
#include "lib/core/base.h"

enum tcp_state { TCP_PENDING, TCP_OPEN, TCP_REFUSED, TCP_FILTERED, TCP_UNREACHABLE, TCP_ERROR };
const char *
tcp_state_name(enum tcp_state s); /* "open" "refused" "filtered" "unreachable" "error", "pending" */

/* What an errno of connect() says of the network. */
enum tcp_state tcp_state_of(int error);

#endif
