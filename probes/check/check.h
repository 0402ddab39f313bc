#ifndef PROBES_CHECK_CHECK_H
#define PROBES_CHECK_CHECK_H
/*
 * One judgement about this host per file: c_NAME.c holds `const struct check
 * check_NAME` and the list is made from the file names, in that order of
 * names. A check adds a finding when it has something to say; staying silent
 * means "does not apply here". Its ids (the first column of the report) are
 * API. What is known to hurt is WARN on one host and FAIL only where peers
 * were named and the harm was seen; what may be on purpose is INFO.
 */
#include "probes/iface/facts.h"
#include "probes/iface/suggest.h"

struct check_input {
	const struct facts *f;
	const struct suggestion *s;    /* the interface we would take; iface may be NULL */
	const struct prediction *nccl; /* what NCCL would take by itself */
};

struct check {
	const char *help; /* what it looks for, one line */
	void (*run)(const struct check_input *in, struct report *r);
};

void check_all(const struct check_input *in, struct report *r);

/* How addr.usable's advice begins where it knows no address; who knows the other hosts' fills it.
 */
#define CHECK_ADD_ADDRESS "sudo ip addr add ADDRESS/PREFIX dev "

#endif
