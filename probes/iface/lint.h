#ifndef PROBES_IFACE_LINT_H
#define PROBES_IFACE_LINT_H
/* --check: every stack's judgement about what is set, and data.lint, the list of what is set. */
#include "probes/iface/facts.h"

/* @accelerate: the file that a launch by it names; NULL: that which it finds by itself. */
void lint_all(const struct facts *f, const char *accelerate, struct report *r);

#endif
