#ifndef PROBES_LOG_TWINS_H
#define PROBES_LOG_TWINS_H
/*
 * Nodes of a job that were started with one number. Each says its own: torchrun's agent
 * ("group_rank=0"), its configuration of a static rendezvous ("{'rank': 0, ..."), DeepSpeed's
 * launcher and SGLang ("node_rank=0"), and a command that somebody typed ("--machine_rank 0").
 * Only the first number of a node counts: it may be given another when all start again.
 */
#include "lib/core/base.h"

enum { TWINS_MAX = 64 };

struct twins {
	long nodes; /* that they count; 0: not said */
	size_t n;
	struct twin {
		unsigned kind; /* of line */
		long number;
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

#endif
