#ifndef PROBES_LOG_ROOM_H
#define PROBES_LOG_ROOM_H
/*
 * File systems and quotas that are used up, as "df", "quota" and their like show them beside the
 * job: the reason of what could not be written, and which of them it is.
 */
#include "probes/log/explain.h"

#define ROOM_ANCHORS "quota   limit|  in_doubt|Warn/Grace"

/* A line above a table of quotas. */
void room_begin(struct why *w, struct why_stream *s, const struct log_line *l);
/* A row of it; false: the table has ended. */
bool room_row(struct why_stream *s, const struct log_line *l);
void room_judge(struct arena *a, struct explanation *x);

#endif
