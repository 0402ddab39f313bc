#ifndef LIB_HOST_FREE_PORT_H
#define LIB_HOST_FREE_PORT_H
/*
 * A port that a program can be told to listen on, such as MASTER_PORT: nobody has it now, and the
 * kernel gives it to nobody, so that it is still free when the job begins. It lies outside of
 * ip_local_port_range and of what an administrator reserved (ip_local_reserved_ports).
 */
#include "lib/host/port_range.h"

struct free_ports {
	struct port_range range; /* the kernel's */
	const char *reserved;	 /* "8080,9000-9010", or "" */
};

void free_ports_read(struct free_ports *f, struct arena *a);
/* Can it be had, on all addresses of this host? By taking it for a moment. */
bool free_ports_has(const struct free_ports *f, uint16_t port);
/* It is reserved, for whoever names it, in that range or not, and can be had. */
bool free_ports_keeps(const struct free_ports *f, uint16_t port);
/* The first of them at @from or behind it; else the first from 1024 on; 0: there is none. */
uint16_t free_ports_next(const struct free_ports *f, uint16_t from);

#endif
