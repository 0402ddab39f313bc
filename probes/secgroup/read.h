#ifndef PROBES_SECGROUP_READ_H
#define PROBES_SECGROUP_READ_H
/* Private to probes/secgroup/read*.c: one element of a document each. */
#include "probes/secgroup/model.h"

/* Text that may be printed in a command, or NULL. */
const char *sg_read_word(struct sg_model *m, const cJSON *o, const char *key);
unsigned sg_read_seconds(const cJSON *o, const char *key); /* 0: none */
void sg_read_type(struct sg_model *m, const cJSON *o);
void sg_read_reservation(struct sg_model *m, const cJSON *o);
void sg_read_interface(struct sg_model *m, const cJSON *o);

#endif
