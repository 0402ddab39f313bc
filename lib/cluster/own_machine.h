#ifndef LIB_CLUSTER_OWN_MACHINE_H
#define LIB_CLUSTER_OWN_MACHINE_H
/*
 * Nobody needs ssh to reach the machine they are at, and a fresh one has no key to itself. It is
 * known by its short and its whole name and by an address of its own; by another name where all
 * that the name means here are addresses of its own. A name that begins as ours does is asked
 * for; others only where no way was named, and in few: each costs a moment, or a second with a
 * name server that is dead.
 */
#include "lib/host/hostname.h"

struct own_machine {
	char name[256];
	bool in_hosts, by_resolver; /* other names: looked for in /etc/hosts, asked for */
	const char *hosts;	    /* that file */
	size_t hosts_n;
	struct name_book asked;
	struct arena *a;
};
/* @rsh: --rsh; NULL: WINDSOCK_RSH counts. @n: how many names are to come. */
void own_machine_init(struct own_machine *m, const char *rsh, size_t n, struct arena *a);
bool own_machine_is(struct own_machine *m, const char *name);

#endif
