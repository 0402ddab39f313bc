#include "probes/log/aloud.h"

#include "lib/core/fix.h"
#include "lib/core/log.h"
#include "lib/core/text.h"
#include "probes/log/tell.h"
#include "probes/stacks/stacks.h"

/* What the log does not say: where do the processes of the command stand? */
static void say_stalled(const char *brief, const struct stacks_brief *at, struct arena *a)
{
	log_warn("no output for a while%s",
		 brief			    ? arena_printf(a, ": %s", brief)
		 : at->said		    ? ""
		 : at->kind == BRIEF_NOBODY ? ", and no cause is known yet: ncclwhy --stacks says "
					      "where each rank stands, --live asks NCCL"
					    : ", and nothing is wrong with where its ranks stand");
}

/* Again only where it is not what was said before. */
static void say_stacks(struct aloud *l, unsigned stalls, const struct stacks_brief *at)
{
	uint32_t now = at->said ? text_hash(0, at->said) : 0;

	if (stalls > 1 && now == l->stood)
		return;
	l->stood = now;
	if (at->said)
		log_say("%s%s",
			at->kind == BRIEF_UNREAD ? "where its ranks stand is not known: " : "",
			at->said);
	else if (stalls > 1 && at->kind == BRIEF_WELL)
		log_say("nothing is wrong any more with where its ranks stand");
	if (at->fix)
		log_say("%s %s", fix_mark(at->fix), fix_text(at->fix));
}

void aloud_quiet(struct why *w, unsigned stalls, const struct source_command *of, void *arg)
{
	AUTO(arena_done) struct arena a = {0};
	struct stacks_brief at = {0};
	struct aloud *l = arg;
	struct explanation x;
	const char *brief, *fix = NULL;
	bool is_new;

	explain(w, &a, &x);
	brief = tell_briefly(w, &x, &a, &fix);
	is_new = brief && l->told != x.causes.v[0].sig->id;
	if (stalls && of)
		at = stacks_brief_of(of->pid, &of->meanwhile, &a);
	if (at.kind == BRIEF_BROKEN_OFF)
		return;
	if (stalls == 1)
		say_stalled(brief, &at, &a);
	else if (is_new)
		log_say("%s", brief);
	if (fix && (stalls == 1 || is_new))
		log_say("%s", fix);
	if (stalls)
		say_stacks(l, stalls, &at);
	if (brief)
		l->told = x.causes.v[0].sig->id;
}
