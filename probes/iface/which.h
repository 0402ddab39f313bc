#ifndef PROBES_IFACE_WHICH_H
#define PROBES_IFACE_WHICH_H
/* Which interface has (or, for a public address, stands behind) this address: --ip. */
#include "lib/host/cloud.h"
#include "probes/iface/facts.h"

struct which_opts {
	const char *given; /* as typed */
	bool name_only;
	uint64_t cloud_ns; /* how long the cloud may be asked */
};

int which_interface(struct facts *f, const struct which_opts *o, struct report *r,
		    struct err *e) MUST_CHECK;

#endif
