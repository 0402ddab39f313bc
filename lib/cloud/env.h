#ifndef LIB_CLOUD_ENV_H
#define LIB_CLOUD_ENV_H
/* AWS's variables, as its own programs read them: one that is empty is not set. */
#include "lib/core/base.h"

static inline const char *env(const char *name) /* NULL: not set */
{
	const char *v = getenv(name);

	return v && *v ? v : NULL;
}

#endif
