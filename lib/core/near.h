#ifndef LIB_CORE_NEAR_H
#define LIB_CORE_NEAR_H
/* Did you mean. */
#include "lib/core/base.h"

/* The nearest of @n names to @got, or what other tools call it; NULL when none is near. Capitals
 * and underscores are no errors. */
const char *nearest_name(const char *got, const char *const *names, size_t n);
/* One of @words, which blanks part; capitals are no errors. */
bool is_word_of(const char *got, const char *words);
/* Letters missing, added, wrong, or swapped with their neighbour; SIZE_MAX: too long to tell. */
size_t typing_errors(const char *got, const char *name);
bool is_slip_of(const char *got, const char *name); /* two typing errors at most */

#endif
