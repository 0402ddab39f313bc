#include "bench/replay/ask.h"

#include "bench/replay/source.h"
#include "lib/core/units.h"

enum { BARE_MAX = 64 /* ranks that are started here unasked */ };
static const uint64_t USUAL_NS = 60 * NS_PER_S;

int ask_replay(const struct asked *q, const struct asked *usual, struct err *e)
{
	const struct sweep_opts *s = &q->job.rank.sweep;
	const struct verdict_opts *v = &q->job.verdict;
	const struct {
		bool given;
		const char *name;
	} others[] = {
		{q->analyze.n, "--analyze"},
		{v->pairs, "--pairs"},
		{q->find_slow, "--find-slow"},
		{s->for_ns, "--for"},
		{q->coll != usual->coll, "--coll"},
		{q->type != usual->type, "-d"},
		{q->op != usual->op, "-o"},
		{q->root != usual->root, "-r"},
		{q->sizes.min != ASK_NOT_GIVEN, "-b"},
		{q->sizes.max != ASK_NOT_GIVEN, "-e"},
		{q->sizes.step != ASK_NOT_GIVEN, "-i"},
		{q->sizes.factor != ASK_NOT_GIVEN, "-f"},
		{q->cycles != ASK_NOT_GIVEN, "-N"},
		{v->nccl_json, "-J"},
		{q->plot, "--plot"},
		{v->save_baseline, "--save-baseline"},
		{q->baseline, "--baseline"},
		{q->expect, "--expect"},
	};

	for (size_t i = 0; q->replay.n && i < ARRAY_LEN(others); i++)
		if (others[i].given)
			return err_set(
				e, ERR_USAGE,
				"%s does not go with --replay, which does what was recorded: "
				"leave one of them out",
				others[i].name);
	return 0;
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
