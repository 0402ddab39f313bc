#include "lib/cluster/errand.h"

#include "lib/core/quote.h"

/*
 * Not without a group of its own: that of who runs it is not ours to end. The command stands in
 * the foreground, as sh lets others ignore Ctrl-C for ever, and has nothing on stdin. One line
 * without an exclamation mark: the account's own shell may be a csh.
 */
static const char script[] =
	"bang=$(printf \"\\041\"); g=; read -r p c s q g z 2>/dev/null </proc/$$/stat; w=; if [ "
	"\"$g\" = $$ ]; then "
	"exec 3<&0; (read -r x && [ \"$x\" = windsock ] || exit; "
	"while read -r x; do :; done; trap \"\" TERM; kill -TERM 0; sleep 2; kill -KILL 0) "
	"<&3 3<&- >/dev/null 2>&1 & eval \"w=\\$$bang\"; exec 3<&-; fi; "
	"printf \"\\012%s\\012\" \"" ERRAND_BEGINS "\"; printf \"\\012%s\\012\" \"" ERRAND_BEGINS
	"\" >&2; "
	"sh -c \"$0\" </dev/null; r=$?; [ $r -ne 255 ] || printf \"\\012%s\\012\" "
	"\"windsock: it ended with 255\" >&2; [ -z \"$w\" ] || kill $w 2>/dev/null; exit $r";

const char *errand_script(struct arena *a, const char *command)
{
	return arena_printf(a, "exec sh -c %s %s", shell_quote(a, script), shell_quote(a, command));
}

const char *errand_said(const char *s, size_t n)
{
	const char *at = memmem(s, n, ERRAND_MARK, sizeof(ERRAND_MARK) - 1);

	return at ? at + sizeof(ERRAND_MARK) - 1 : s;
}

bool errand_ended(char *err)
{
	char *at = strstr(err, ERRAND_ENDED);

	if (at)
		*at = '\0';
	return at;
}
