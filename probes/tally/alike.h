#ifndef PROBES_TALLY_ALIKE_H
#define PROBES_TALLY_ALIKE_H
/*
 * When do several hosts say the same? Not by the letter: a host names itself, nft counts a rule's
 * handle by how often something was changed there, and numbers are each host's own.
 */
#include "lib/core/arena.h"

/* nft's text of a rule, or a sentence with some, without their handles. */
const char *alike_no_handles(struct arena *a, const char *text);
/* Without handles, and where @own (a host; NULL: none) is named, a hole. */
const char *alike_gist(struct arena *a, const char *text, const char *own);
/* In the holes @name; within `...`, which is to be typed, @example. */
const char *alike_fill(struct arena *a, const char *gist, const char *name, const char *example);
/* What is measured or counted as holes, too, and addresses; never what is a name: eth0 is not eth1,
 * and neither ports, exit codes, Xids nor versions that differ are one fault. */
const char *alike_shape(struct arena *a, const char *gist);
/* All of one shape: one text in which numbers that differ are "3 to 17", and addresses "10.0.0.2
 * etc.". */
const char *alike_range(struct arena *a, const str_list *gists);

#endif
