#ifndef PROBES_WALLS_SAY_H
#define PROBES_WALLS_SAY_H
/* Private to probes/walls/. */
#include "probes/walls/train.h"

/* Either may be NULL. */
bool walls_same(const char *x, const char *y);
/* What is not known, and what stands beside the rules: cloud.policy, .rules, .idle, .rdma. */
void walls_say_unknown(const struct walls_training *t, struct report *r);
void walls_say_beside(const struct walls_training *t, struct report *r);
/* cloud.exposed */
void walls_say_exposed(const struct walls_training *t, struct report *r);
/* cloud.network: machines that no network has in common. */
void walls_say_apart(const struct walls_training *t, struct report *r);

#endif
