#ifndef PROBES_SECGROUP_LIVE_H
#define PROBES_SECGROUP_LIVE_H
/* Private to probes/secgroup/live*.c: one audit that asks EC2. */
#include "lib/cloud/ec2.h"
#include "probes/secgroup/verdict.h"

struct live {
	const struct cloud_run *q;
	struct ec2 ec2;
	str_list groups; /* that are on the nodes, as far as we were told */
	struct sg_model model;
	bool blind; /* the groups may not be read: said already */
};

/* Fills the model anew. What may not be read becomes a finding; without the groups, blind. */
int live_fetch(struct live *l, struct err *e) MUST_CHECK;
/* And what its instance types do where nothing is set, for the nodes that set nothing. */
int live_fetch_types(struct live *l, struct err *e) MUST_CHECK;
/* The missing rules: first all as dry runs, then for good. @ret_changed: some were added. */
int live_apply(struct live *l, const sg_fix_list *fixes, bool *ret_changed,
	       struct err *e) MUST_CHECK;

#endif
