#ifndef PROBES_SECGROUP_SAY_H
#define PROBES_SECGROUP_SAY_H
/* Private to probes/secgroup/: what is missing on which side, and one check per function. */
#include "probes/secgroup/train.h"

/* Fills sides, fixes and wishes from the pairs. */
void sg_find_sides(struct sg_training *t);
/* It may be open and it may not: some of its groups' rules, or what is in their prefix lists, are
 * not there, and what is does not let all traffic pass. */
bool sg_side_is_unknown(const struct sg_side *s);
/* The prefix lists that its rules for training's ports name, each once. */
void sg_side_lists(const struct sg_training *t, const struct sg_side *s, str_list *ret);
const char *sg_side_subject(struct arena *a, const struct sg_side *s);
struct sg_fix sg_side_fix(const struct sg_training *t, const struct sg_side *s);
void sg_fix_print(struct finding *f, struct sg_fix fix);

/* cloud.groups, the wishes: with several groups on an interface each one should do. */
void sg_say_wishes(const struct sg_training *t, struct report *r);
/* cloud.public, cloud.exposed, cloud.prefix_list: address ranges that do not do what was meant. */
void sg_say_ranges(const struct sg_training *t, struct report *r);
/* cloud.acl */
void sg_say_acls(const struct sg_training *t, struct report *r);
/* cloud.subnet: where EFA does not reach. */
void sg_say_places(const struct sg_training *t, struct report *r);
/* cloud.idle: when EC2 forgets connections that are silent. */
void sg_say_idle(const struct sg_training *t, struct report *r);

#endif
