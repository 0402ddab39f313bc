#ifndef LIB_CLUSTER_TROUBLE_WORDS_H
#define LIB_CLUSTER_TROUBLE_WORDS_H
/* Between trouble*.c: what was said, in parts that can be shown; and what did not run. */
#include "lib/cluster/trouble.h"

enum { TROUBLE_QUOTED = 200 };

/* Of @s that says something, and is no advice of ours; printable. */
const char *trouble_last_line(struct arena *a, const char *s);
const char *trouble_first_line(struct arena *a, const char *s);
/* The word before @mark; NULL: it is not there. */
const char *trouble_word_before(const char *said, const char *mark, struct arena *a);
struct trouble trouble_why(const char *said, const char *fix);

/* trouble_program.c: by its exit codes 127 and 126; and by what the loader of programs says, or
 * nothing. */
struct trouble trouble_not_begun(const struct fanout_result *r, const struct rsh_way *rsh,
				 const char *program, struct arena *a);
struct trouble trouble_not_executed(const struct fanout_result *r, const struct rsh_way *rsh,
				    const char *program, struct arena *a);
struct trouble trouble_not_loaded(const struct fanout_result *r, const struct rsh_way *rsh,
				  const char *program, struct arena *a);

#endif
