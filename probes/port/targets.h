#ifndef PROBES_PORT_TARGETS_H
#define PROBES_PORT_TARGETS_H
/*
 * Whom to reach on which ports: `10.0.0.2:29500,30000-30010`, `node1`,
 * `[fd00::2]:29500`, or with a name to call it by, `node1=10.0.0.2:29500`.
 * Names are looked up here, and names and addresses that cannot be what was
 * meant (loopback, public, digits read as an address) become findings.
 */
#include "lib/report/report.h"
#include "probes/iface/facts.h"
#include "probes/port/ports.h"

struct port_target {
	const char *given; /* how to call it: what stood before ':' or '=' */
	const char *host;  /* what is looked up */
	port_list ports;
	bool draws;	     /* the sample is among its ports: a name of them stands for it */
	addr_list addrs;     /* without port; empty: see trouble */
	const char *trouble; /* "does not resolve: ..." */
	bool unasked;	     /* for a reason of this host's own (struct name_answer) */
	bool is_self;	     /* one of its addresses is this host's */
};
typedef LIST(struct port_target) target_list;

/* @ports: for operands that name none. Usage errors only; nothing is looked up. */
int targets_parse(const str_list *operands, const port_list *ports, const struct port_env *env,
		  struct arena *a, target_list *ret, struct err *e) MUST_CHECK;
void targets_resolve(target_list *l, const struct facts *f, uint64_t deadline_ns);
/* Findings port.name and port.address. */
void targets_judge(const target_list *l, const struct facts *f, struct report *r);

#endif
