#ifndef LIB_CLUSTER_TYPED_WAY_H
#define LIB_CLUSTER_TYPED_WAY_H
/*
 * Lines for a person to type here that go to hosts the way that the run itself went: with another
 * they would not arrive. @way: what is typed before the host (rsh_way's typed, or rsh_typed());
 * @rsh: --rsh, or NULL.
 */
#include "lib/core/arena.h"

/* @line there: words of the shell here, as for ssh. */
const char *typed_there(struct arena *a, const char *way, const char *host, const char *line);
/* A command for the shell there, all of it, whatever it has ("a; b | c"); its remark ("# why")
 * stays behind the line that is typed here. */
const char *typed_on(struct arena *a, const char *way, const char *host, const char *command);
/* The file here (a word of the shell) becomes the program @to there: through a pipe, as scp knows
 * no other way than ssh. */
const char *typed_copy(struct arena *a, const char *way, const char *host, const char *file,
		       const char *to);
/* A command of ours ("portcheck") for these hosts. */
const char *typed_for(struct arena *a, const char *command, const char *rsh, const char *hosts);

#endif
