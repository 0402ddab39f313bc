#ifndef PROBES_IFACE_PEERS_H
#define PROBES_IFACE_PEERS_H
/*
 * The hosts named with --peer, resolved: `node1,node2` are two. A peer may be
 * written with a name to call it by in messages, and then with several addresses,
 * any of which will do: `node1=10.0.0.2,192.168.1.2:29500`.
 */
#include "probes/iface/facts.h"
#include "probes/iface/suggest.h"

/* Usage error for a malformed peer. A name that does not resolve is a FAIL
 * finding, one that is this host itself an INFO one; both are left out. One whose
 * name was still asked for when a signal or the budget came has no addresses. */
int peers_resolve(const struct facts *f, const str_list *given, uint64_t deadline_ns,
		  struct report *r, peer_list *ret, struct err *e) MUST_CHECK;
/* For the time before anything runs: each is well formed, and from now on an entry of its own. */
int peers_validate(str_list *given, struct arena *a, struct err *e) MUST_CHECK;

#endif
