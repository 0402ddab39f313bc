#ifndef PROBES_LOG_HEAL_H
#define PROBES_LOG_HEAL_H
/*
 * What was tried again and worked, or came back by itself: a request, a file, a
 * node, a link, a server. Each function hears a line that may say so, and marks
 * the failures before it that it mends; settle.c draws the conclusion.
 */
#include "lib/core/base.h"

struct log_line;
struct record;
struct why;
struct why_stream;

/* How what was down says that it is up: of which entry, where its name stands to these words, and
 * what is behind the name. What else comes back is a row here and one of heal.c's downs[]. */
#define HEAL_UPS(X)                                                                                \
	X("KRN-003", NAME_BEFORE, "ink up", "")                                                    \
	X("KRN-003", NAME_BEFORE, "ink Up", "")                                                    \
	X("KRN-003", NAME_BEFORE, "ink is up", "")                                                 \
	X("KRN-003", NAME_BEFORE, "ink is Up", "")                                                 \
	X("KRN-003", NAME_BEFORE, "link status definitely up", "")                                 \
	X("KRN-003", NAME_BEFORE, "link becomes ready", "")                                        \
	X("KRN-003", NAME_BEFORE, "ained carrier", "")                                             \
	X("KRN-003", NAME_BEFORE, "changed to up", "")                                             \
	X("SLM-003", NAME_BEFORE, "ow responding", "")                                             \
	X("KRN-014", NAME_BEHIND, "nfs: server ", " OK")                                           \
	X("KRN-014", NAME_OF_SERVER, "Connection restored to ", "")

#define HEAL_UP_ANCHOR(id, where, words, rest) words "|"
#define HEAL_UP_ANCHORS HEAL_UPS(HEAL_UP_ANCHOR)

void heal_up(struct why *w, struct why_stream *s, const struct log_line *l);
void heal_retried(struct why *w, struct why_stream *s, const struct log_line *l);
void heal_downloaded(struct why *w, struct why_stream *s, const struct log_line *l);
void heal_scheduled(struct why *w, struct why_stream *s, const struct log_line *l);
void heal_pulled(struct why *w, struct why_stream *s, const struct log_line *l);
void heal_started(struct why *w, struct why_stream *s, const struct log_line *l);
void heal_node(struct why *w, struct why_stream *s, const struct log_line *l);
void heal_answered(struct why *w, struct why_stream *s, const struct log_line *l);
#define HEAL_SLURMD_ANCHORS "slurmd started on |Started Slurm node daemon|: slurmd version "
/* slurmd runs: that it did not, and what it met as it started, is over; no job's end is, and it
 * says nothing of the drivers. */
void heal_slurmd(struct why *w, struct why_stream *s, const struct log_line *l);
void heal_logged_in(struct why *w, struct why_stream *s, const struct log_line *l);

/* Of each line the file, the node, the link came later. */
bool heal_is_whole(const struct record *r);

#endif
