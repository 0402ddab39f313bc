#ifndef BENCH_RANKS_HOSTS_H
#define BENCH_RANKS_HOSTS_H
/*
 * How ranks are spread over hosts. A name alone is no host: clones of one image share it. Nor is a
 * machine: containers on one have names of their own. Pure.
 *
 *	keys[i] = hosts_key(a, name, machine);		of each rank
 *	hosts_of(keys, n, a, &h);
 */
#include "lib/core/arena.h"

struct hosts {
	size_t n;	    /* hosts */
	size_t least, most; /* ranks on one of them */
	const size_t *of;   /* by rank: its host's number; hosts are in the order of first ranks */
};

/* @machine: a boot id; NULL or "": not known. */
const char *hosts_key(struct arena *a, const char *name, const char *machine);
/* Ranks with equal keys share a host. */
void hosts_of(const char *const *keys, size_t n, struct arena *a, struct hosts *ret);
/* Hosts that are known by their addresses, rank by rank. @ret_at: what leads to that of each: its
 * name or, where hosts share that, its address. */
void hosts_at(const char *const *names, const char *const *addresses, size_t n, struct arena *a,
	      struct hosts *ret, const char **ret_at);

#endif
