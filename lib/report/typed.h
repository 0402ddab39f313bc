#ifndef LIB_REPORT_TYPED_H
#define LIB_REPORT_TYPED_H
/*
 * A fix is a command, mostly; some are advice in words ("smaller batches") or a line for a program
 * or a file ("init_process_group(timeout=...)"). Only what a shell takes may stand where one
 * pastes: "reset the GPUs or reboot" would run `reset`.
 */
#include <stdbool.h>

/* Is @fix for a shell? It is when it begins with a program that our fixes name, or a path, which
 * is followed by what is no English sentence. Of several lines the first says it for all. */
bool fix_is_typed(const char *fix);
/* Is it the same command at the same place? A line says its place in its remark ("# on node1"),
 * or it is for the host whose finding it is of. */
bool fix_is_same(const char *x, const char *x_host, const char *y, const char *y_host);
/* What stands before it in text: "->" before a command, " -" before words. */
const char *fix_mark(const char *fix);

#endif
