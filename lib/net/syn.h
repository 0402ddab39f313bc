#ifndef LIB_NET_SYN_H
#define LIB_NET_SYN_H
/*
 * Is it an option of TCP that something on the way drops? The kernel's own questions have them all,
 * so a few are made by hand, with and without: which of them are answered, by whatever answer. That
 * takes CAP_NET_RAW.
 */
#include "lib/net/addr.h"

enum syn_option { SYN_TIMESTAMPS = 1, SYN_SCALING = 2, SYN_SACK = 4 };

struct syn_probe {
	union addr to;	  /* with port */
	unsigned dropped; /* what it is not answered with, and is without; 0: it is none of these */
};

/* About half a second for 16 of them, and one more where it seems to be an option. */
void syn_ask(struct syn_probe *v, size_t n);

#endif
