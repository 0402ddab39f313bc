#ifndef PROBES_SECGROUP_VERDICT_H
#define PROBES_SECGROUP_VERDICT_H
/* Private to probes/secgroup/audit*.c: the judgement as the command was asked for it. */
#include "probes/secgroup/audit.h"
#include "probes/secgroup/train.h"
#include "probes/walls/train.h"

/* --group: are those ids of EC2? ERR_USAGE */
int verdict_check_groups(const struct cloud_config *c, struct err *e) MUST_CHECK;
int verdict_train(const struct cloud_run *q, struct sg_model *m, const str_list *groups,
		  struct sg_training *ret, struct err *e) MUST_CHECK;
/* Several groups and no node: each group by itself, as if nodes carried it alone. alone.c */
bool verdict_has_no_nodes(const struct cloud_run *q, const struct sg_model *m);
int verdict_alone(const struct cloud_run *q, struct sg_model *m, struct err *e) MUST_CHECK;
/* The same of Google Cloud's and Azure's rules, which are of another kind. */
int cloud_audit_walls(const struct cloud_run *q, struct walls *w, struct err *e) MUST_CHECK;
void verdict_report(const struct cloud_run *q, const struct sg_training *t);

#endif
