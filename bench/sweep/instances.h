#ifndef BENCH_SWEEP_INSTANCES_H
#define BENCH_SWEEP_INSTANCES_H
/*
 * What the network of a cloud's instance type does. An EC2 card (ENA) reports no
 * speed, and what it would report is not what the type may send. Pure.
 */
#include "lib/core/arena.h"

struct instance_net {
	double gbps;	  /* all cards together, at all times: EC2 lets small types burst above */
	int cards;	  /* they share it evenly */
	double flow_gbps; /* what a single TCP flow may do; NAN: no rule is known */
};

/* False: not in the table. */
bool instance_net(const char *type, struct instance_net *ret);
/* Which GPU the type has, as expect_gpu() knows it; NULL: not in the table. */
const char *instance_gpu(const char *type);
/* Adds the names that are @text, or begin so: "p4d" is p4d.24xlarge. Capitals do not count, nor
 * what stands between the parts, nor that Azure's begin with "Standard_". */
void instances_like(const char *text, struct arena *a, str_list *ret);
/* Adds the names of a family that @text may be a slip of. */
void instances_meant(const char *text, struct arena *a, str_list *ret);

#endif
