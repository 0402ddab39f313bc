#ifndef PROBES_LOG_PREFIX_H
#define PROBES_LOG_PREFIX_H
/*
 * What launchers, libraries, collectors and people put before a message, several of them before
 * one: a time, a rank, a process, a host, a mark. Each form is a function in prefix.c, with what
 * it looks like above it; a form that is missing is one more of them, in the table there.
 */
#include "probes/log/line.h"

/* The message behind them. Who speaks and when is in @l as far as it was said and not known;
 * l->text is not looked at. */
const char *prefix_skip(const char *text, struct log_line *l);

/* What is behind the digits of a number that is not too large; NULL: there is none. */
const char *prefix_number(const char *p, long *ret);

#define PREFIX_FRAME "\xe2\x94\x82" /* a vertical line, of a box around the message */

#endif
