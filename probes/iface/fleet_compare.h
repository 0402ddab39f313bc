#ifndef PROBES_IFACE_FLEET_COMPARE_H
#define PROBES_IFACE_FLEET_COMPARE_H
/* Settings of many hosts beside each other: what the parts of fleet_check() share. */
#include "probes/iface/fleet.h"

/* That of data.lint; NULL: that host has it not. */
const char *fleet_setting(const struct answer *a, const char *name);
/* Do hosts that answered disagree about it? Not set is a value, too. */
bool fleet_differs(const struct answers *all, const char *name);
/* "=ens5 on n0,n1; not set on n2" */
const char *fleet_who_has_what(struct fleet *f, const struct answers *all, const char *name);

/* accelerate's files; nothing where no host has one for several machines. */
void fleet_accelerate(struct fleet *f, const struct answers *all);

#endif
