#ifndef PROBES_LOG_BARE_H
#define PROBES_LOG_BARE_H
/*
 * Messages of exceptions that do not stand as a traceback ends with them: a logger's head is in
 * front ("ERROR:root:RuntimeError: no GPU"), or the exception's name is missing ("[ERROR] no GPU",
 * and what people paste of one line).
 */
#include "probes/log/line.h"

/* Quick: false where both would find nothing in a log of many lines. */
bool bare_may(const char *text);
/* In @l: what a line that tells of an error says behind its logger's head, from the exception's
 * name on; NULL: no such line. @is_pasted: it stands all but alone, and any few words may be in
 * front. */
const char *bare_named(const struct log_line *l, bool is_pasted);
/* In @l: the message of a line that tells of an error and names no exception; NULL as above. */
const char *bare_unnamed(const struct log_line *l, bool is_pasted);
/* The exceptions that it may be of, the @i-th; NULL: no more. Own: it is of no other. */
const char *bare_name(const char *said, size_t i, bool *ret_is_own);

#endif
