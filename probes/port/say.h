#ifndef PROBES_PORT_SAY_H
#define PROBES_PORT_SAY_H
/* What was found out about ports, as findings (one for all ports of a target that fared alike)
 * and as data.targets[]. */
#include "lib/report/report.h"
#include "probes/port/reach.h"

struct say_opts {
	bool expect_open;
	const char *from; /* this host, as others call it */
	/* Of a target that names no ports: most of them were drawn by lot. NULL: somebody named
	 * them */
	const port_list *drawn;
	const port_list *sample; /* what was drawn, for all targets that draw */
};
void say_findings(const struct reach *r, const target_list *targets, const struct say_opts *o,
		  struct report *report);
void say_data(const struct reach *r, const struct say_opts *o, cJSON *data);

#endif
