#ifndef PROBES_IFACE_FACTS_H
#define PROBES_IFACE_FACTS_H
/*
 * Everything the judgements of ifprobe look at, read once. Reading costs
 * time, so each mode asks for the parts it needs; the rest stays empty.
 */
#include "lib/host/gpu.h"
#include "lib/host/rank.h"
#include "lib/host/rdma.h"
#include "probes/rules/rules.h"

enum facts_part {
	FACTS_NET = 1, /* interfaces, addresses, default routes */
	FACTS_RDMA = 2,
	FACTS_GPU = 4,
	FACTS_SETTINGS = 8, /* environment and NCCL's conf files */
	FACTS_DETAIL = 16,  /* driver, speed and NUMA node of every interface */
	FACTS_ALL = 31,
	FACTS_LEADER = 32, /* of the interfaces, if it can be told, only which comes first */
};

struct facts {
	struct arena *a;
	struct netlink nl;
	struct inventory inv;
	bool leader_only;      /* inv is by leader_read(): facts_widen() reads all of it */
	candidate_list ranked; /* by leader_read() */
	rdma_list rdma;
	gpu_list gpus;
	struct settings settings;
	struct name_book names;
	unsigned nccl_version; /* 0: the newest known */
	struct rules_input in; /* points into the above */
};

/* nccl_version and names.deadline_ns are the caller's, the rest is filled. */
int facts_read(struct facts *f, unsigned parts, struct arena *a, struct err *e) MUST_CHECK;
int facts_widen(struct facts *f, struct err *e) MUST_CHECK;
void facts_done(struct facts *f);

#endif
