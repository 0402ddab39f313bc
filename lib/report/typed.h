#ifndef LIB_REPORT_TYPED_H
#define LIB_REPORT_TYPED_H
/* Fixes (lib/core/fix.h) as a report has them: those that say the same, and their JSON. */
#include "lib/core/arena.h"

#include <cjson/cJSON.h>

/* Is it the same command at the same place? A line says its place in its remark ("# on node1"),
 * or it is for the host whose finding it is of. */
bool fix_is_same(const char *x, const char *x_host, const char *y, const char *y_host);

/* @fix with its place in its remark ("on node1"), once; of words in brackets. Several lines have it
 * above them, for all: behind the last it would be for that one, and end no here-document. */
const char *fix_placed(struct arena *a, const char *fix, const char *place);

/* Is it a command that is not whole yet? Some words in CAPITALS (PEER, CLUSTER-SUBNET; those of
 * typed.c's list) are for a person to fill in, and "..." is the rest of a command of his own; what
 * is quoted with '' is none. It is told like others, but never where one pastes. */
bool fix_has_hole(const char *fix);
/* A command, and whole. */
bool fix_is_pasted(const char *fix);

/* The texts as "fix" of @o, in "as_words" the numbers of those that are words, and in "has_hole" of
 * those that have one: 0 is the first; none of these where there are none. */
void fix_json(cJSON *o, const str_list *fixes);
/* Those of an object as fix_json() writes it, marked again; a document without as_words has
 * commands alone. */
void fix_from_json(const cJSON *o, struct arena *a, str_list *ret);

#endif
