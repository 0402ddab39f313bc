#ifndef PROBES_NODE_FACTS_H
#define PROBES_NODE_FACTS_H
/* What a host is, in a few words and numbers (data.facts of `windsock --here`), for the
 * comparison with others. */
#include "lib/core/arena.h"

#include <cjson/cJSON.h>

/* @same: paths of which a digest is wanted, by @until_ns (0: no matter when); @name: what addresses
 * has it here? NULL: none is. */
void facts_gather(struct arena *a, const str_list *same, uint64_t until_ns, const char *name,
		  cJSON *into);
void facts_rdma(struct arena *a, cJSON *into); /* its RDMA ports */
double facts_clock(void);		       /* seconds since 1970 */
/* "2.5.1+cu124" of the Python that a job would run, or NULL. */
const char *facts_torch(struct arena *a);

#endif
