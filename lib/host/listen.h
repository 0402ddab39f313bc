#ifndef LIB_HOST_LISTEN_H
#define LIB_HOST_LISTEN_H
/* Who listens on a port of this host: /proc/net/tcp and tcp6, and the process behind it. */
#include "lib/core/arena.h"
#include "lib/net/addr.h"

struct port_holder {
	union addr at; /* with port; may be the wildcard */
	uint64_t inode;
	unsigned uid;
	const char *command; /* NULL: somebody else's, which only root may look at */
	int pid;
};
typedef LIST(struct port_holder) holder_list;

void holders_read(uint16_t port, struct arena *a, holder_list *ret);
/* One line of /proc/net/tcp or tcp6; false when it is no listening socket. */
bool holder_parse(const char *line, struct port_holder *ret);

/* Who asked on @port, was answered, and never heard the answer: addresses without port. */
void half_open_read(uint16_t port, struct arena *a, addr_list *ret);

#endif
