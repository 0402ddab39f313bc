#ifndef LIB_HOST_PORT_RANGE_H
#define LIB_HOST_PORT_RANGE_H
/* ip_local_port_range: where the kernel takes ports from when nobody names one. */
#include "lib/core/arena.h"

struct port_range {
	uint16_t first, last;
	bool known; /* false: the kernel's default was assumed */
};

struct port_range port_range_read(struct arena *a);
/* As somebody says: where it is none, the default. */
struct port_range port_range_of(unsigned first, unsigned last);

#endif
