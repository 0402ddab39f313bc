#ifndef PROBES_RULES_TORCH_H
#define PROBES_RULES_TORCH_H
/* The parts of the torch module: what it predicts, and what it says about settings. */
#include "lib/host/hostname.h"
#include "probes/rules/rules.h"

enum store_host {
	STORE_ELSEWHERE,
	STORE_HERE,	  /* every torchrun thinks so */
	STORE_HERE_NEWER, /* those that also resolve the endpoint's name (2.x) */
	STORE_ERROR,	  /* the own name does not resolve: torchrun raises */
};
/* What torchrun's c10d rendezvous concludes when no is_host was given. Pure. */
enum store_host torch_store_host(const char *host, const struct name_answer *host_addrs,
				 const char *me, const struct name_answer *my_addrs);

/* Behind the line that makes MASTER_ADDR an address of this host; and where it has to be another's,
 * which only that one knows. */
#define TORCH_MASTER_OURS "   # on every node: this one's, if it is node 0"
#define TORCH_MASTER_IN_WORDS                                                                      \
	"MASTER_ADDR is to be an address of the host of rank 0, the same on every node"

/* What is wrong with the text of MASTER_ADDR, or NULL; @ret_meant is what to write instead. */
const char *torch_master_trouble(const char *value, struct arena *a, const char **ret_meant);

void torch_check(const struct rules_input *in, struct report *r);
/* torch's and Gloo's own variables: values torch cannot read, old and misspelt names. */
void torch_check_env(struct arena *a, struct report *r);
/* True for NCCL_BLOCKING_WAIT: with TORCH_ in front it is one of those. */
bool torch_knows_short(const char *name);
void torch_check_store(const struct rules_input *in, struct report *r);
void torch_check_resolved(const struct rules_input *in, const struct name_answer *master,
			  const struct iface_addr *owner, struct report *r);

#endif
