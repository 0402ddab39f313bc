#include "probes/log/aloud.h"

#include "lib/core/fix.h"
#include "lib/core/log.h"
#include "probes/log/tell.h"
#include "probes/stacks/stacks.h"

/* What the log does not say: where do the processes of the command stand? */
static void say_stacks(pid_t pid, struct arena *a)
{
	const char *fix = NULL, *brief = pid ? stacks_brief_of(pid, a, &fix) : NULL;

	if (!brief)
		return;
	log_say("%s", brief);
	if (fix)
		log_say("%s %s", fix_mark(fix), fix_text(fix));
}

void aloud_quiet(struct why *w, bool stalled, pid_t pid, void *arg)
{
	AUTO(arena_done) struct arena a = {0};
	struct aloud *l = arg;
	struct explanation x;
	const char *brief, *fix = NULL;
	bool is_new;

	explain(w, &a, &x);
	brief = tell_briefly(w, &x, &a, &fix);
	is_new = brief && l->told != x.causes.v[0].sig->id;
	if (stalled)
		log_warn("no output for a while%s",
			 brief ? arena_printf(&a, ": %s", brief)
			       : ", and no cause is known yet: ncclwhy --stacks says where each "
				 "rank stands, --live asks NCCL");
	else if (is_new)
		log_say("%s", brief);
	if (fix && (stalled || is_new))
		log_say("%s", fix);
	if (stalled)
		say_stacks(pid, &a);
	if (brief)
		l->told = x.causes.v[0].sig->id;
}
