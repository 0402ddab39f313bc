#include "probes/log/wrapped.h"

#include "lib/core/interrupt.h"
#include "probes/log/dumps.h"
#include "probes/log/outcome.h"

bool wrapped_never_began(const struct wrapped *x, const struct why *w)
{
	return x->lost && !w->bytes;
}

int wrapped_read(struct wrapped *x, struct why *w, const struct source_watch *watch, struct err *e)
{
	int64_t began = time(NULL);
	int failed = source_run(w, x->argv, STDOUT_FILENO, STDERR_FILENO, watch, &x->code, e);

	x->lost = failed;
	if (x->code)
		dumps_read_told(w, began);
	if (x->code > 0 && !interrupt_by_budget() && !wrapped_never_began(x, w))
		outcome_note(w, x->code);
	return failed;
}

bool wrapped_is_plain(const struct wrapped *x, const struct why *w, const struct explanation *found)
{
	bool unstarted = x->code == 126 || x->code == 127;

	return x->code == 0 ||
	       (!found->causes.n &&
		((unstarted && w->bytes) || interrupt_by_budget() || outcome_is_wanted(x->code)));
}
