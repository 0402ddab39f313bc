#include "bench/sweep/asked.h"

#include "bench/replay/ask.h"
#include "lib/core/units.h"
#include "lib/net/addr.h"

/* Of both tables the first option that is not in @but. */
static const char *measured(const struct asked *q, const struct asked *usual, const struct where *w,
			    struct arena *a)
{
	static const char *const but[] = {"analyze", "nic",	 "instance", "expect",
					  "report",  "deadline", "timeout",  NULL};
	static const struct where nowhere = WHERE_DEFAULTS;
	const struct opt_table what = {asked_rows, ASKED_NROWS, (void *)(uintptr_t)q};
	const struct opt_table where = {where_rows, WHERE_NROWS, (void *)(uintptr_t)w};

	return opt_given(&what, usual, but, false, a) ?: opt_given(&where, &nowhere, but, false, a);
}

int asked_alone(const struct asked *q, const struct asked *usual, const struct where *w,
		struct arena *a, struct err *e)
{
	const char *name = measured(q, usual, w, a);

	return name ? err_set(e, ERR_USAGE,
			      "%s does not go with --analyze, which measures nothing: leave one of "
			      "them out",
			      name)
		    : 0;
}

static int refuse(struct asked *q, const struct asked *usual, const char *const *names,
		  const char *why, struct arena *a, struct err *e)
{
	const struct opt_table t = {asked_rows, ASKED_NROWS, q};
	const char *name = opt_given(&t, usual, names, true, a);

	return name ? err_set(e, ERR_USAGE, "%s %s", name, why) : 0;
}

static const char no_table[] =
	"is of a table of sizes, which --pairs and --find-slow do not make: leave it out";

/* What --analyze alone reads, and what the pairs have not. */
static int check_heeded(struct asked *q, const struct asked *usual, struct arena *a, struct err *e)
{
	static const char *const of_saved[] = {"nic", "instance", NULL};
	static const char *const of_more[] = {"within", "check", "memory", NULL};

	if (refuse(q, usual, of_saved,
		   "goes with --analyze: what is measured here is judged by this hardware, or "
		   "--expect",
		   a, e))
		return -1;
	if (!q->flags.pairs)
		return 0;
	if (refuse(q, usual, asked_of_coll,
		   "is of collectives, which --pairs and --find-slow do not measure: leave it out",
		   a, e))
		return -1;
	return refuse(q, usual, asked_of_table, no_table, a, e) ||
			       refuse(q, usual, of_more, no_table, a, e)
		       ? -1
		       : 0;
}

int asked_check(struct asked *q, const struct asked *usual, struct arena *a, struct err *e)
{
	struct ask_flags *f = &q->flags;

	if (f->bind || f->sockets || f->wire_rate || ask_has_rails(f->rails))
		f->backend = ask_tcp(f->backend); /* has these alone */
	f->pairs = q->job.verdict.pairs || q->find_slow;
	f->together = q->job.rank.together;
	return check_heeded(q, usual, a, e) || ask_for(q, e) || ask_flags(f, e) ||
			       ask_replay(q, usual, a, e) || ask_groups(q, usual, a, e)
		       ? -1
		       : 0;
}

/* A rank of ours says what is wrong with the command line where its launcher hears it. */
static uint64_t known_size(const struct where_role *role) { return role->ours ? 0 : role->size; }

static int read_words(struct asked *q, const struct where_role *role, struct arena *a,
		      struct err *e)
{
	struct sweep_opts *s = &q->job.rank.sweep;

	s->coll = coll_find(q->coll);
	s->ops = ask_ops(q->op);
	if (ask_types(q->type, &s->types, e) || ask_root(q->root, known_size(role), &s->root, e) ||
	    ask_sizes(&q->sizes, s, e) ||
	    (q->groups && ask_groups_of(s, q->groups, known_size(role), a, e)))
		return -1;
	if (s->for_ns && s->adaptive)
		ask_for_sizes(&q->sizes, s);
	return q->expect ? ask_expect(q->expect, &q->job.verdict, e) : 0;
}

static int read_baseline(struct asked *q, const struct where_role *role, struct arena *a,
			 struct err *e)
{
	struct verdict_opts *v = &q->job.verdict;

	if (!q->baseline || !where_reports(role))
		return 0;
	v->baseline = baseline_read(q->baseline, a, e);
	return v->baseline ? 0 : -1;
}

static int bad_bind(const char *at, struct err *e)
{
	err_set(e, ERR_USAGE, "--bind: '%s' is not an address", at);
	return err_hint(e, "`ip -br address` shows the address of each card");
}

/* What the communicator, or the verdict, would find too late. */
static int check_values(struct asked *q, struct err *e)
{
	union addr at;

	if (q->flags.bind && addr_parse(q->flags.bind, &at))
		return bad_bind(q->flags.bind, e);
	return ask_least_average(&q->job.story.least_average, e);
}

static void fill_sweep(struct asked *q)
{
	struct sweep_opts *s = &q->job.rank.sweep;

	s->average = (enum sweep_average)q->average;
	s->blocking = (enum sweep_blocking)q->blocking;
	s->cpu_time = q->cpu_time;
	s->graph = q->flags.graph;
	if (s->adaptive && !s->within_ns)
		s->within_ns = 20 * NS_PER_S;
	s->keep_each = q->job.verdict.nccl_json && !s->for_ns; /* hours of them are too many */
	s->cycles = q->cycles == ASK_NOT_GIVEN ? 1 : q->cycles;
}

static void fill_rank(struct asked *q)
{
	const struct ask_flags *f = &q->flags;
	struct rank_opts *r = &q->job.rank;

	r->mode = f->pairs ? RANK_PAIRS : q->replay.n ? RANK_REPLAY : RANK_SWEEP;
	r->backend = f->backend;
	r->bind = f->bind;
	r->library = f->library;
	r->rails = f->rails;
	r->registers = (unsigned)f->registers;
	r->calls_block = f->calls_block;
	r->groups = q->groups;
	/* pairs: one flow shows best what a link does */
	r->sockets = !f->sockets && r->mode == RANK_PAIRS ? 1 : (unsigned)f->sockets;
	r->with_times = r->sweep.keep_each;
}

static void fill_story(struct asked *q)
{
	const struct verdict_opts *v = &q->job.verdict;
	struct story_opts *s = &q->job.story;

	s->sweep = q->job.rank.sweep;
	s->per_iter = q->per_iter;
	s->timestamps = q->timestamps;
	s->wire_rate = q->flags.wire_rate;
	s->memory = q->memory;
	s->groups = q->groups;
	s->keeps_rows = v->nccl_json || v->baseline || v->save_baseline || q->plot;
}

static struct share share_of(double percent) { return (struct share){percent >= 0, percent / 100}; }

static void fill_verdict(struct asked *q, struct arena *a)
{
	struct verdict_opts *v = &q->job.verdict;

	v->warn = share_of(q->warn);
	v->fail = share_of(q->fail);
	v->plot_here = q->plot && streq(q->plot, "-");
	v->plot = v->plot_here ? NULL : q->plot;
	*LIST_ADD(a, &q->plot_with) = NULL;
	v->plot_with = q->plot_with.v;
	v->together = q->job.rank.together;
}

int asked_job(struct asked *q, const struct where_role *role, struct arena *a, struct err *e)
{
	if (read_words(q, role, a, e) || read_baseline(q, role, a, e) || check_values(q, e))
		return -1;
	fill_sweep(q);
	fill_rank(q);
	fill_story(q);
	fill_verdict(q, a);
	return ask_together(&q->job, e);
}
