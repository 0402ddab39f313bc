#ifndef PROBES_PREFLIGHT_CREW_SAY_H
#define PROBES_PREFLIGHT_CREW_SAY_H
/*
 * Documents that members of a run say to its leader, under a key of each. One that is longer than
 * a value may be goes in pieces: the value is "pieces N" then, KEY/0 to KEY/N-1 are its text. All
 * members share what the rendezvous can keep; who has more to say than its share says nothing.
 */
#include "lib/cluster/rendezvous.h"

#include <cjson/cJSON.h>

/* @members: of the run. NULL, too, is an answer. */
int crew_say(struct rdzv *r, const char *key, const cJSON *doc, size_t members,
	     struct err *e) MUST_CHECK;
/* Waits for it. NULL in @ret: it had nothing to say; else the caller's to free. */
int crew_listen(struct rdzv *r, const char *key, cJSON **ret, struct err *e) MUST_CHECK;

#endif
