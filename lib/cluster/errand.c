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

/* Behind a line's end, as a terminal on the way has it, too; NULL: it goes on. */
static char *behind_line(char *at)
{
	at += *at == '\r';
	return *at == '\n' ? at + 1 : NULL;
}

char *errand_said(char *s, size_t n)
{
	static const char mark[] = "\n" ERRAND_BEGINS;
	char *const end = s + n, *said = NULL;

	while (!said && (s = memmem(s, (size_t)(end - s), mark, sizeof(mark) - 1)))
		said = behind_line(s += sizeof(mark) - 1);
	return said;
}

char *errand_end(char *s, size_t n, int *ret_code)
{
	static const char mark[] = "\n" ERRAND_ENDED;
	char *const end = s + n, *last = NULL, *behind;

	for (; (s = memmem(s, (size_t)(end - s), mark, sizeof(mark) - 1)); s += sizeof(mark) - 1) {
		long code = strtol(s + sizeof(mark) - 1, &behind, 10);

		if (code < 0 || code > UINT8_MAX || !behind_line(behind))
			continue;
		*ret_code = (int)code;
		last = s;
	}
	return last;
}
