#ifndef PROBES_IFACE_FLEET_PAIRS_H
#define PROBES_IFACE_FLEET_PAIRS_H
/*
 * Do the choices of many hosts reach each other? What does not is said in as few
 * findings as there are ends that it has in common: pairs are many.
 */
#include "probes/iface/fleet.h"

/* What a host chose: "interface", "address", "why"; NULL: nothing. */
const char *answer_chose(const struct answer *a, const char *key);
/* Of so many hosts each such one is a peer to all: a list of thousands is no command line. */
size_t fleet_step(size_t hosts);
/* A row of a proof: was it answered? A refusal is an answer. */
bool fleet_is_answer(const cJSON *row);
/* An address of @host that answered @by, through whatever interface; NULL: none. */
const char *fleet_answered_at(const struct answer *by, const char *host);
/* Pairs that do not meet, but for those that another network cannot mend: one address twice. */
size_t fleet_bad_pairs(struct fleet *f, const struct answers *all);
/* True when there was nothing to say. @unproven: of hosts too whose own answer, which says why they
 * have no choice, is not shown. */
bool fleet_say_pairs(struct fleet *f, const struct answers *all, bool unproven);

#endif
