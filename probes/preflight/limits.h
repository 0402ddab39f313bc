#ifndef PROBES_PREFLIGHT_LIMITS_H
#define PROBES_PREFLIGHT_LIMITS_H
/* The parts of the limits stage: of this process, of its control groups, of the machine. */
#include "probes/preflight/preflight.h"

struct finding *limit_finding(struct preflight *p, const char *check, const char *subject);
/* "container", "Kubernetes pod": we are inside one; NULL: not, as far as can be seen. */
const char *limits_container(void);
void limits_groups(struct preflight *p);
void limits_machine(struct preflight *p);

#endif
