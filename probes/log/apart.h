#ifndef PROBES_LOG_APART_H
#define PROBES_LOG_APART_H
/*
 * What keeps machines from being one job, as the commands that started them say it: rendezvous with
 * other ids; a rendezvous at an address that no machine of the job has; each in a world of its own;
 * and checkpoints of other steps that they go on from.
 */
#include "probes/log/contrast.h"

#define APART_START_ANCHORS                                                                        \
	"--rdzv_id|--rdzv-id|run_id  |rdzv_id: |rdzv-id: |\"rdzv_id\"|'run_id'|--rdzv_endpoint|"   \
	"--rdzv-endpoint|MASTER_ADDR=|--master_addr|--master-addr"
#define APART_STEP_ANCHORS                                                                         \
	"esuming|esumed|esume from|oaded checkpoint|oading checkpoint|estored |ontinuing "         \
	"training|from scratch|oading model from|o checkpoint found"

struct why;
struct why_stream;
struct log_line;

struct apart {
	struct contrast ids, steps;
	/* first and last members of worlds that announced themselves, and of how many */
	unsigned firsts, lasts;
	long members;
	char host[64]; /* on which the first such command was typed; "": not said */
};

/* A line that starts a machine's part, or says how it was started. */
void apart_hear_start(struct why *w, struct why_stream *s, const struct log_line *l);
void apart_hear_member(struct apart *t, long which, long total);
void apart_hear_step(struct why *w, struct why_stream *s, const struct log_line *l);

#endif
