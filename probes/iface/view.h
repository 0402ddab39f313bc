#ifndef PROBES_IFACE_VIEW_H
#define PROBES_IFACE_VIEW_H
/* This host's interfaces, RDMA ports and GPUs, as tables for people and as data. */
#include "lib/report/report.h"
#include "probes/iface/facts.h"

/* @cands gives `usable` and `why`, and the order of the table: best first. @with_why
 * adds the reason of each place. */
void view_interfaces(const struct facts *f, const candidate_list *cands, bool with_why,
		     struct report *r);
void view_rdma(const struct facts *f, struct report *r);
void view_gpus(const struct facts *f, struct report *r);

#endif
