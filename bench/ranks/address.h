#ifndef BENCH_RANKS_ADDRESS_H
#define BENCH_RANKS_ADDRESS_H
/*
 * The address that a rank's data comes to, as it told the others when it joined. A host that
 * may not list its interfaces, and has no other way to learn its own, told them loopback: it
 * says what it lacks, instead of calling the others from there.
 */
#include "lib/cluster/rendezvous.h"

int rank_address(struct rdzv *r, union addr *ret, struct err *e) MUST_CHECK;

#endif
