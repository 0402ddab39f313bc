#ifndef LIB_CLUSTER_LAUNCH_WORLD_H
#define LIB_CLUSTER_LAUNCH_WORLD_H
/* Between launch_world.c, launch_master.c and launch_file.c: how a rank finds its rendezvous. */
#include "lib/cluster/agent.h"
#include "lib/cluster/launch.h"

struct meeting {
	const struct world_opts *o;
	struct arena *a;
	struct world_run *run;
	struct token token;
	bool sealed; /* there is a token */
	const char *data_addr;
	uint64_t silence_ns; /* as in struct rdzv_join_opts, and this: */
	const char *excuse;
	struct rdzv_join_opts join;
	struct rdzv_way *others; /* for it, while they are made */
	size_t nothers;
	uint64_t until_ns; /* file://: so long it is looked for, */
	bool stale;	   /* as what was there was that of the run before */
	uid_t mapped;	   /* whom its file server makes of us, once that is known */
	bool is_mapped;
};

void meeting_note(struct meeting *m, const char *fmt, ...) PRINTF(2, 3);
/* Starts the server in a child, on @port or one of the @ports from there (0: any). */
int meeting_host(struct meeting *m, const union addr *at, unsigned ports, struct err *e) MUST_CHECK;
/* All addresses of MASTER_ADDR, without a port. */
int meeting_master(struct meeting *m, struct err *e) MUST_CHECK;
/* The rendezvous is kept here by now: where the port that was given is taken, who has it. */
void meeting_look_at_port(struct meeting *m);
/* --init file://: rank 0 writes where it is and the run's token, the others read it. */
int meeting_by_file(struct meeting *m, struct err *e) MUST_CHECK;
void meeting_end_file(struct world_run *r); /* rank 0's, if there is one */

#endif
