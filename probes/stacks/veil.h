#ifndef PROBES_STACKS_VEIL_H
#define PROBES_STACKS_VEIL_H
/* A line of a program's source is shown, kept and pasted in issues: what may be a key or a password
 * in its strings is not. */
#include "lib/core/arena.h"

/* requests.post(url, headers={"Authorization": "Bearer hf_AbCdEf0123456789"}): with "..." there.
 * In doubt it is one: a long word of letters and digits. */
const char *veil(struct arena *a, const char *line);

#endif
