#ifndef PROBES_IFACE_FLEET_EMIT_H
#define PROBES_IFACE_FLEET_EMIT_H
/* Proven choices of many hosts as one answer: a value that is right everywhere
 * where there is one, else values per host. */
#include "probes/iface/fleet.h"

/* Answers in @form (NULL: no answer), fills data.suggest, adds suggest.names. */
void fleet_emit(struct fleet *f, const struct answers *all, const char *form, bool name_only);

#endif
