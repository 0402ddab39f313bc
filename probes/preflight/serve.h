#ifndef PROBES_PREFLIGHT_SERVE_H
#define PROBES_PREFLIGHT_SERVE_H
/*
 * `windsock --serve`: the same command line on this machine and on all that
 * join with the line that is printed; the answer is that of the first of them.
 */
#include "lib/core/err.h"

bool serve_is_meant(char **words);	   /* NULL-ended */
int serve_run(char **argv, struct err *e); /* an exit code; @e filled where it is ours */

#endif
