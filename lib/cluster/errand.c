#include "lib/cluster/errand.h"

#include "lib/core/quote.h"

static const char script[] =
#include "gen/sh/errand.h"
	;

const char *errand_script(struct arena *a, const char *command)
{
	const char *with =
		arena_printf(a, "begins='" ERRAND_BEGINS "' ended='" ERRAND_ENDED "'; %s", script);

	return arena_printf(a, "exec sh -c %s %s", shell_quote(a, with), shell_quote(a, command));
}

const char *errand_said(const char *s, size_t n)
{
	const char *at = memmem(s, n, ERRAND_MARK, sizeof(ERRAND_MARK) - 1);

	return at ? at + sizeof(ERRAND_MARK) - 1 : s;
}

bool errand_ended(char *err)
{
	char *at = strstr(err, "\n" ERRAND_ENDED "\n");

	if (at)
		*at = '\0';
	return at;
}
