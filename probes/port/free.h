#ifndef PROBES_PORT_FREE_H
#define PROBES_PORT_FREE_H
/*
 * --free: a MASTER_PORT for a job. On this host, or one that is free on all of --hosts and through
 * which each of them reaches each other. The answer is a shell line, MASTER_PORT=29503; data.free
 * has the rest.
 */
#include "lib/report/report.h"
#include "probes/port/mesh.h"

/* @o: hosts, and how they are asked; without any it is this host. @given: --hosts as typed. */
int free_find(const struct mesh_opts *o, const char *given, const struct port_env *env,
	      struct arena *a, struct report *r, struct err *e) MUST_CHECK;

#endif
