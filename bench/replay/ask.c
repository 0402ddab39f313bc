#include "bench/replay/ask.h"

#include "bench/replay/source.h"
#include "lib/core/units.h"

enum { BARE_MAX = 64 /* ranks that are started here unasked */ };
static const uint64_t USUAL_NS = 60 * NS_PER_S;

/* What is measured, how often and as which columns, the recording and --within say. */
static const char *const not_heeded[] = {"analyze",    "pairs",		"find-slow", "output_file",
					 "plot",       "save-baseline", "baseline",  "expect",
					 "warn-below", "fail-below",	NULL};

static const char *not_recorded(struct asked *q, const struct asked *usual, struct arena *a)
{
	const struct opt_table t = {asked_rows, ASKED_NROWS, q};

	return opt_given(&t, usual, not_heeded, true, a) ?: opt_given(&t, usual, asked_of_coll, true, a)
		?: opt_given(&t, usual, asked_of_table, true, a);
}

int ask_replay(struct asked *q, const struct asked *usual, struct arena *a, struct err *e)
{
	const char *name = q->replay.n ? not_recorded(q, usual, a) : NULL;

	return name ? err_set(e, ERR_USAGE,
			      "%s does not go with --replay, which does what was recorded: leave "
			      "one of them out",
			      name)
		    : 0;
}

/* As many ranks as then: a group of others would be another group. */
static int check_ranks(const struct traffic *t, const struct where *w, struct where_role *role,
		       struct err *e)
{
	if (where_is_bare(w) && !role->is_rank && t->ranks <= BARE_MAX)
		role->size = role->here = (uint64_t)t->ranks;
	if (!role->size || role->size == (uint64_t)t->ranks)
		return 0;
	err_set(e, ERR_USAGE, "the recording is of %d ranks, and here are %zu", t->ranks,
		(size_t)role->size);
	return err_hint(e,
			"its groups are of %d ranks: --np %d, or --hosts with so many slots in all "
			"(a:%d,b:%d)",
			t->ranks, t->ranks, (t->ranks + 1) / 2, t->ranks / 2);
}

static int read_it(struct asked *q, const struct where *w, struct where_role *role, struct arena *a,
		   struct err *e)
{
	struct traffic *t = ARENA_NEW(a, struct traffic);
	const char *text, **env = arena_alloc(a, 2 * sizeof(*env));

	if (source_read(&q->replay, a, t, e) || check_ranks(t, w, role, e))
		return -1;
	text = traffic_pack(t);
	if (!text)
		return err_set(e, ERR_SYS,
			       "%d ranks in %zu groups are more than --replay can tell "
			       "the ranks of",
			       t->ranks, t->groups.n);
	q->job.rank.replay = text;
	q->job.story.replay = t;
	if (role->is_rank)
		return 0;
	env[0] = arena_printf(a, REPLAY_ENV "=%s", text);
	q->replay_env = env;
	return setenv(REPLAY_ENV, text, 1) ? err_sys(e, "cannot tell the ranks what to do") : 0;
}

int ask_replay_read(struct asked *q, const struct where *w, struct where_role *role,
		    struct arena *a, struct err *e)
{
	if (!q->replay.n)
		return 0;
	q->job.rank.mode = RANK_REPLAY;
	if (!q->job.rank.sweep.within_ns)
		q->job.rank.sweep.within_ns = USUAL_NS;
	if (role->ours || role->relayed)
		q->job.rank.replay = getenv(REPLAY_ENV);
	else if (!role->is_rank || role->rank <= 0)
		return read_it(q, w, role, a, e);
	return 0;
}
