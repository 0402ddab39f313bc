#ifndef PROBES_IFACE_LINT_H
#define PROBES_IFACE_LINT_H
/* --check: every stack's judgement about what is set, and data.lint, the list of what is set. */
#include "probes/iface/facts.h"

void lint_all(const struct facts *f, struct report *r);

#endif
