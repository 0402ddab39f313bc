#ifndef LIB_NET_PEER_USER_H
#define LIB_NET_PEER_USER_H
/*
 * Whose the other end of a TCP connection within this host is, as the kernel says (inet_diag):
 * loopback keeps other machines out, and no other user of this one.
 */
#include <stdbool.h>
#include <sys/types.h>

/* False: the kernel does not say, as in some sandboxes, or that end is of another host. */
bool peer_user(int fd, uid_t *ret);

#endif
