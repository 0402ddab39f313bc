#ifndef PROBES_LOG_PREPARING_H
#define PROBES_LOG_PREPARING_H
/*
 * What a rank was still preparing (a data set, a model) when another one gave up waiting: the bar
 * of it stands on the screen just before. Kept is the longest one.
 */
#include "probes/log/line.h"

struct why;
struct why_stream;

/* Somebody gives up. */
void preparing_hear(struct why *w, struct why_stream *s, const struct log_line *l);

#endif
