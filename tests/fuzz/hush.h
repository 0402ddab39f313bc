#ifndef TESTS_FUZZ_HUSH_H
#define TESTS_FUZZ_HUSH_H
/* What is said goes nowhere, once and for all. */
#include "lib/core/base.h"
#include "lib/core/log.h"

#include <fcntl.h>

static inline void hush(void)
{
	static bool done;

	if (!done && dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO) < 0)
		abort();
	if (!done)
		log_init("fuzz", LOG_QUIET);
	done = true;
}

#endif
