#ifndef LIB_CORE_QUOTE_H
#define LIB_CORE_QUOTE_H
/* What is shown to be typed, and the words of what was. */
#include "lib/core/arena.h"
#include "lib/core/err.h"

/* Text as one word of a POSIX shell: it's -> 'it'\''s' */
char *shell_quote(struct arena *a, const char *s);
/* A path: of "~/x" the shell still makes one below the home folder. */
const char *shell_quote_path(struct arena *a, const char *path);
/* All words of a line, up to NULL. */
const char *shell_quote_words(struct arena *a, const char *const *argv);
/* The same without a line end, a tab or any other control character, which no line of ours could
 * show: $'...' as bash, zsh and ksh read it. Others are as above. */
char *shell_quote_line(struct arena *a, const char *s);

/* A command (@argv as main got it) once more, with each option ("--lr") set to its value; NULL: as
 * it is. What else was typed stays, but for --json. @sets ends with a NULL option. */
struct shell_set {
	const char *option, *value;
};
const char *shell_again(struct arena *a, const char *const *argv, const struct shell_set *sets);

/* Splits as a shell splits simple words: blanks, quotes, backslashes; nothing is expanded. */
int split_words(const char *text, struct arena *a, str_list *ret, struct err *e) MUST_CHECK;

#endif
