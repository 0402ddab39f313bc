/* Who stands where, in words. */
#include "probes/stacks/words.h"
#include "lib/core/text.h"
#include "probes/stacks/judge.h"
#include "probes/tally/ranks.h"

const char *stacks_who(struct arena *a, const stand_set *set)
{
	int *v = arena_alloc(a, set->n * sizeof(*v) + 1);
	const struct stand *first = set->v[0];
	const char *names;

	for (size_t i = 0; i < set->n; i++)
		v[i] = set->v[i]->rank;
	names = say_ranks(a, v, set->n);
	if (set->n > 1)
		return names;
	return arena_printf(a, "%s (%s%spid %d%s)", names, first->host ?: "",
			    first->host ? ", " : "", (int)first->pid,
			    first->is_guessed && first->size > 1 ? ", by the order of pids" : "");
}

const char *stacks_place(struct arena *a, const struct py_frame *f)
{
	const char *slash = strrchr(f->file, '/'), *name = slash && slash[1] ? slash + 1 : f->file;

	return f->line ? arena_printf(a, "%s:%d", name, f->line) : name;
}

const char *stacks_doing(struct arena *a, const struct stand *s)
{
	const char *own = s->own < s->n ? s->frames[s->own].function : NULL;

	switch (s->kind) {
	case STAND_UNREAD:
		return "not looked at";
	case STAND_COLLECTIVE:
		return arena_printf(a, "in %s", s->what);
	case STAND_MEETING:
		return arena_printf(a, "waiting for the others in %s", s->what);
	case STAND_BACKWARD:
		return "in backward";
	case STAND_DEVICE:
		return "waiting for its GPU";
	case STAND_DATA:
		return "waiting for data";
	case STAND_SAVING:
		return "at a checkpoint";
	case STAND_COMPILING:
		return "compiling";
	case STAND_IMPORTING:
		return "importing modules";
	case STAND_DEBUGGER:
		return "at a breakpoint";
	case STAND_LOCK:
		return "waiting for another process's lock";
	case STAND_SERVICE:
		return "waiting for another service";
	case STAND_IDLE:
		return "waiting for work";
	case STAND_ENDING:
		return "at the end of its program";
	case STAND_ELSEWHERE:
	case STAND_KINDS:
		break;
	}
	return !own ? "elsewhere" : *own == '<' ? "in its program" : arena_printf(a, "in %s", own);
}

/* What it does is not told by a name: its source says it. */
static const char *source(struct arena *a, const struct stand *s)
{
	enum { SHOWN = 60 };
	size_t n = s->line ? strlen(s->line) : 0;

	if (!n ||
	    (s->kind != STAND_ELSEWHERE && s->kind != STAND_DEVICE && s->kind != STAND_SERVICE))
		return "";
	return arena_printf(a, ": %.*s%s", SHOWN, s->line, n > SHOWN ? "..." : "");
}

const char *stacks_where(struct arena *a, const struct stand *s)
{
	if (s->own >= s->n)
		return stacks_doing(a, s);
	return arena_printf(a, "%s (%s%s)", stacks_doing(a, s), stacks_place(a, &s->frames[s->own]),
			    source(a, s));
}

const char *stacks_waiters(struct arena *a, const stand_set *set)
{
	const struct stand *s = set->v[0];
	const char *where = stacks_where(a, s);

	if (starts_with(where, "waiting "))
		return arena_printf(a, "%s %s %s", stacks_who(a, set),
				    set->n == 1 ? "waits" : "wait", where + strlen("waiting "));
	return arena_printf(a, "%s %s %s", stacks_who(a, set), set->n == 1 ? "waits" : "wait",
			    where);
}

const char *stacks_stuck(struct arena *a, const struct stand_worker *w)
{
	return w->state == 'D' ? arena_printf(a, ", stuck in the kernel %s", w->wchan) : "";
}
