#ifndef LIB_REPORT_HERE_H
#define LIB_REPORT_HERE_H
/*
 * A fix is written once, with `sudo` where root has to type it. In most containers whoever reads
 * it is root, and has no sudo: then a line for this very host is told without the word.
 */
#include "lib/core/arena.h"

/*
 * @line as it can be typed here, or @line itself (NULL, too): where there is a sudo, or we are not
 * root; where a recorded machine is looked at; and where the line says in its remark that it is for
 * another host ("# on node2"). What is quoted is for another shell, maybe elsewhere: it stays.
 */
const char *here_line(struct arena *a, const char *line);

#endif
