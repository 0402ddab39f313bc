#ifndef LIB_CORE_QUOTE_H
#define LIB_CORE_QUOTE_H
/* What is shown to be typed. */
#include "lib/core/arena.h"

/* Text as one word of a POSIX shell: it's -> 'it'\''s' */
char *shell_quote(struct arena *a, const char *s);
/* The same without a line end, a tab or any other control character, which no line of ours could
 * show: $'...' as bash, zsh and ksh read it. Others are as above. */
char *shell_quote_line(struct arena *a, const char *s);

/* A command (@argv as main got it) once more, with that option ("--lr") set to @value: what else
 * was typed stays, but for --json. */
const char *shell_again(struct arena *a, const char *const *argv, const char *option,
			const char *value);

#endif
