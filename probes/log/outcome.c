#include "probes/log/outcome.h"

#include "lib/core/compat.h"

#include <signal.h>

/* NULL: by itself. */
static const char *signal_of(int code) { return code > 128 ? sigabbrev_np(code - 128) : NULL; }

bool outcome_is_wanted(int code)
{
	int sig = code - 128;

	return sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGPIPE;
}

void outcome_note(struct why *w, int code)
{
	const char *name = signal_of(code);
	struct why_stream s;

	w->ended = name ? arena_printf(&w->a, "was ended by SIG%s (exit code %d)", name, code)
			: arena_printf(&w->a, "ended with exit code %d", code);
	w->was_silent = !w->bytes;
	if (!name || outcome_is_wanted(code))
		return;
	why_open(&s, w, "the exit of the command");
	why_feed(&s, "the command ", strlen("the command "));
	why_feed(&s, w->ended, strlen(w->ended));
	why_close(&s);
}
