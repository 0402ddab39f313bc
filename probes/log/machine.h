#ifndef PROBES_LOG_MACHINE_H
#define PROBES_LOG_MACHINE_H
/*
 * On which machine a line was, in a log that somebody put together of several: the host that the
 * line names, the prompt before a command ("user@host:~$", "[host] $", "host> "), a label ("main:
 * "), or the heading above it ("===== desk2 =====", "node B:", "NODE 1").
 */
#include "probes/log/line.h"

struct why;
struct why_stream;

#define MACHINE_ANCHORS                                                                            \
	"===== |------ |node A|node B|node 0|node 1|node 2|Node A|Node B|Node 0|"                  \
	"Node 1|Node 2|NODE A|NODE B|NODE 0|NODE 1|NODE 2|machine|Machine|MACHINE|host A|host B|"  \
	"Host A|Host B|HOST A|HOST B"

/* A line that may be a heading. */
void machine_hear(struct why *w, struct why_stream *s, const struct log_line *l);
/* "": nothing says it. */
void machine_of(const struct why_stream *s, const struct log_line *l, char *ret, size_t size);
/* The label of "main-node: ...", which has no number as most hosts' names have, and may be no
 * machine's at all; "": none. */
void machine_label(const struct log_line *l, char *ret, size_t size);

#endif
