#ifndef BENCH_SWEEP_INSTANCES_H
#define BENCH_SWEEP_INSTANCES_H
/*
 * What the network of a cloud's instance type does. An EC2 card (ENA) reports no
 * speed, and what it would report is not what the type may send. Pure.
 */
#include "lib/core/base.h"

struct instance_net {
	double gbps;	  /* all cards together, at all times: EC2 lets small types burst above */
	int cards;	  /* they share it evenly */
	double flow_gbps; /* what a single TCP flow may do; NAN: no rule is known */
};

/* False: not in the table. */
bool instance_net(const char *type, struct instance_net *ret);

#endif
