#ifndef PROBES_LOG_TWINS_H
#define PROBES_LOG_TWINS_H
/*
 * Nodes of a job that were started with one number. Each says its own: torchrun's agent
 * ("group_rank=0"), its configuration of a static rendezvous ("{'rank': 0, ..."), DeepSpeed's
 * launcher and SGLang ("node_rank=0"), a command that somebody typed ("--machine_rank 0",
 * "NODE_RANK=0"), a configuration ("machine_rank: 0"), and programs the first rank of a machine
 * ("rank=0 local_rank=0 world=8").
 * Only the first number of a node counts: it may be given another when all start again.
 */
#include "lib/core/base.h"

enum { TWINS_MAX = 64 };

#define TWINS_ANCHORS                                                                              \
	"group_rank=|group_world_size=|num_local_procs=|--machine_rank|--node_rank|--node-rank|"   \
	"rdzv_configs  |dist_init_addr='|NODE_RANK=|machine_rank:|num_machines:|local_rank=0|"     \
	"LOCAL_RANK=0"

struct twins {
	long nodes;	/* that they count; 0: not said */
	unsigned typed; /* commands with a number */
	size_t n;
	struct twin {
		unsigned kind; /* of line */
		long number;
		long world;	  /* of a program's rank; 0: not said, or none */
		bool by_file;	  /* the name is the file's: no host was said */
		const char *name; /* of its host */
		unsigned file;
	} v[TWINS_MAX];
};

struct why;
struct why_stream;
struct log_line;

/* A line with such a number, or with how many nodes there are. */
void twins_hear(struct why *w, struct why_stream *s, const struct log_line *l);
/* Two machines on which somebody typed two numbers. */
bool twins_typed(const struct twins *t, const struct twin **ret_one, const struct twin **ret_other);
/* Two machines have the first rank, each of a world of that size; 0: there are none. */
long twins_world(const struct twins *t);

#endif
