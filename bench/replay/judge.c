/* What it means: is it the network that was slow, and what would help? */
#include "bench/sweep/story.h"
#include "bench/sweep/verdict.h"
#include "lib/core/units.h"

#include <math.h>

/* Times of one and the same thing that are no more apart are alike. */
static const double ALIKE = 1.5;
/* Of the time: what a step may spend on communication, hardly noticed; and nearly all. */
static const double LITTLE = 0.3, MOST = 0.8;
/* What a call may take longer than its work on the GPU. */
static const double BEGIN_S = 50e-6;

static const char *seconds(struct unit_buf *b, double s)
{
	return format_duration(b, (uint64_t)(s * 1e9));
}

/* --- is the data right? -------------------------------------------------------------------------
 */

static void judge_data(const struct story *s)
{
	const struct traffic *t = s->o->replay;
	struct finding *f = report_find(s->r, "coll.data", "replay");
	size_t done = 0, bad = 0;

	for (size_t i = 0; i < t->kinds.n; i++) {
		done += s->replay.kinds[i].done;
		bad += s->replay.kinds[i].done && s->replay.kinds[i].wrong > 0;
	}
	if (!done)
		finding_set(f, ST_ERROR, "nothing was done again: no collective had room within %s",
			    format_duration(&(struct unit_buf){0}, s->sweep.within_ns));
	else if (!s->sweep.check)
		finding_set(f, ST_SKIP, "%zu kinds of collectives done again, not verified", done);
	else if (bad)
		finding_set(f, ST_FAIL, "%zu of %zu kinds of collectives had wrong elements", bad,
			    done);
	else
		finding_set(f, ST_PASS, "%zu kind%s of collectives verified, none wrong", done,
			    done == 1 ? "" : "s");
	if (!done)
		finding_fix(f, "- give it more time: --within 10m");
	finding_expect(f, "no wrong element");
	verdict_add(s->r, f);
}

/* --- how long, and how long then
 * ------------------------------------------------------------------ */

struct times {
	const struct story *s;
	const struct replay_sum *sum;
	double now_s;
	bool fair;  /* what was measured now is what was recorded then, as far as can be known */
	bool whole; /* hardly anything is without a time, then or now */
	const char *head;
};

/* What was measured, and is not slow. */
static const char *cleared(const struct times *x)
{
	return story_hosts(x->s) > 1 ? "the network as it is here is not what is slow"
				     : "what links these ranks is not what is slow (all are on one "
				       "host: nothing between hosts was tested)";
}

/* One group's collectives come one after the other; those of others may come at the same time,
 * share the network, and take the longer for it. */
static void compare_longer(const struct times *x, double now, const char *was, struct finding *f)
{
	bool sure = x->sum->longest_s > ALIKE * now;

	if (sure)
		finding_set(f, x->whole ? ST_PASS : ST_INFO,
			    "%s; %s: %s, for it does the same in %.2g %% of that time. What is: "
			    "work of the GPU beside it, collectives at the same time, waiting that "
			    "the recording does not tell from sending, or a network that was "
			    "slower then%s",
			    x->head, was, cleared(x), now / x->sum->then_s * 100,
			    x->whole ? "" : "; or what was left out or has no times");
	else
		finding_set(f, ST_INFO,
			    "%s; %s, added up, and %.2g %% of that here. Those of several groups "
			    "may have been at the same time: then the network may have been what "
			    "they waited for",
			    x->head, was, now / x->sum->then_s * 100);
}

/* Slower by more than it costs to begin, which the recording has not; and not because ranks wait
 * for each other in the order of all, where nobody computes meanwhile. */
static bool is_slower(const struct times *x, double now, double then)
{
	double by_kind = fmin(now, x->sum->timed_s);

	return x->fair && by_kind > ALIKE * then && by_kind - then > x->sum->calls * BEGIN_S;
}

static void fix_late(const struct traffic *t, struct finding *f)
{
	if (t->judge)
		finding_fix(f, "%s  # who came late", t->judge);
	else
		finding_fix(f, "- ncclwhy on the same files says who came late");
}

/* By what the ranks that came last took, which waited for nobody. */
static void compare(const struct times *x, struct finding *f)
{
	double then = x->sum->then_s, waited = x->sum->waited_s;
	/* of what has times, as long as it took in the order of all */
	double now = x->sum->timed_s * x->now_s / x->sum->now_s;
	struct unit_buf a, b;
	const char *was = arena_printf(x->s->a, "in the recording its collectives took %s%s%s",
				       seconds(&a, waited),
				       waited > then * 1.05 ? ", by the ranks that came last " : "",
				       waited > then * 1.05 ? seconds(&b, then) : "");

	if (waited > ALIKE * then && waited > ALIKE * now && !is_slower(x, now, then))
		finding_set(f, x->whole ? ST_PASS : ST_INFO,
			    "%s; %s: %s, ranks waited for those that came late%s", x->head, was,
			    cleared(x), x->whole ? "" : ", in what was not left out and has times");
	else if (then > ALIKE * now)
		compare_longer(x, now, was, f);
	else if (now > ALIKE * then)
		finding_set(f, is_slower(x, now, then) ? ST_WARN : ST_INFO,
			    "%s; %s: %.1f times as long as then%s", x->head, was, now / then,
			    is_slower(x, now, then) ? ". This network, or its settings, is slower "
						      "than the recorded one"
						    : "");
	else
		finding_set(
			f, ST_INFO,
			"%s; %s: as fast as the network is here, by itself. What would help is to "
			"send less, or while the GPU computes",
			x->head, was);
	if (waited > ALIKE * then)
		fix_late(x->s->o->replay, f);
}

/* No times of collectives: a step's own is known. */
static void compare_step(const struct times *x, struct finding *f)
{
	const struct traffic *t = x->s->o->replay;
	double part = x->now_s / t->step_s;
	struct unit_buf a;
	const char *was = arena_printf(x->s->a, "%s in the recording took %s", replay_what(t),
				       seconds(&a, t->step_s));

	if (part <= LITTLE)
		finding_set(f, ST_PASS, "%s; %s: %.0f %% of it at most is communication, so %s",
			    x->head, was, part * 100, cleared(x));
	else if (part > MOST)
		finding_set(f, x->fair ? ST_WARN : ST_INFO,
			    "%s; %s: communication alone is %.0f %% of that%s", x->head, was,
			    part * 100,
			    x->fair ? ". The network limits it, or it is slower here than there"
				    : "");
	else
		finding_set(f, ST_INFO, "%s; %s: %.0f %% of it if nothing overlapped", x->head, was,
			    part * 100);
}

static const char *unlike(const struct story *s)
{
	if (streq(s->backend, "nccl"))
		return "";
	return arena_printf(s->a, " (%s over %s, which is no measure of NCCL's time)", s->device,
			    s->backend);
}

/* "a step's communication takes 84 ms here: 312 collectives ..." */
static const char *head_of(const struct story *s, const struct replay_sum *sum, double now_s,
			   bool ordered)
{
	const struct traffic *t = s->o->replay;
	struct unit_buf now, size;

	return arena_printf(
		s->a, "%s's communication takes %s here%s: %.0f collective%s of rank %d, %s, %s%s",
		replay_what(t), seconds(&now, now_s), unlike(s), sum->calls,
		sum->calls == 1 ? "" : "s", sum->rank, format_size(&size, (uint64_t)sum->bytes),
		ordered ? "in their order, one after the other" : "one after the other, added up",
		sum->cut > 0
			? arena_printf(s->a, ", but for %.0f that had no room or no counterpart",
				       sum->cut)
		: t->left.n ? ", without what was left out"
			    : "");
}

static void judge_time(const struct story *s, const struct replay_sum *sum)
{
	const struct traffic *t = s->o->replay;
	bool whole = !(sum->cut > 0) && !t->left.n,
	     ordered = s->replay.passes > 0 && !(sum->cut > 0);
	struct times x = {.s = s, .sum = sum};
	struct finding *f = report_find(s->r, "replay.time", replay_what(t));

	x.now_s = ordered ? s->replay.in_order_s : sum->now_s;
	x.head = head_of(s, sum, x.now_s, ordered);
	x.fair = streq(s->backend, "nccl") && !sum->is_reckoned;
	x.whole = whole && sum->timed_s >= MOST * sum->now_s;
	if (sum->then_s > 0 && sum->timed_s > 0 && (x.whole || !whole || !(t->step_s > 0)))
		compare(&x, f);
	else if (t->step_s > 0 && whole)
		compare_step(&x, f);
	else
		finding_set(f, ST_INFO, "%s; %s", x.head,
			    whole ? "the recording has no times to compare with"
				  : "the recording has no times of these to compare with");
	finding_value(f, x.now_s * 1e3, "ms");
	verdict_add(s->r, f);
}

/* --- what would help
 * ------------------------------------------------------------------------------- */

static const char *advice(const struct traffic *t, const struct traffic_kind *k)
{
	double bytes = traffic_bytes(t, k);

	if (bytes < (256 << 10) && k->times >= 8 && !streq(k->as, "barrier"))
		return "- so small that each costs its latency: put more into one (DDP: "
		       "bucket_cap_mb=100; FSDP: larger units; pipeline: larger micro-batches)";
	if (streq(k->as, "barrier") && k->times >= 2)
		return "- barriers carry nothing: leave those of each step out";
	if ((size_t)bytes % 16 && bytes >= (1 << 20))
		return "- its size is no multiple of 16 bytes, which GPUs and networks move best: "
		       "pad "
		       "the tensors";
	if (k->uneven)
		return "- its parts are uneven: all wait for the rank with the largest";
	return NULL;
}

static void judge_costly(const struct story *s, const struct replay_sum *sum)
{
	const struct traffic *t = s->o->replay;
	const struct traffic_kind *k;
	const char *fix;
	size_t most = 0;
	double part;
	struct finding *f;
	struct unit_buf size;

	for (size_t i = 0; i < t->kinds.n; i++)
		if (replay_kind_s(t, s->replay.kinds, i) > replay_kind_s(t, s->replay.kinds, most))
			most = i;
	k = &t->kinds.v[most];
	part = replay_kind_s(t, s->replay.kinds, most) / sum->now_s;
	if (!(part > 0))
		return;
	f = report_find(s->r, "replay.costly", k->as);
	finding_set(f, ST_INFO, "%.0f %% of the time: %s of %s, %s in %s, between %s",
		    fmin(part, 1) * 100, k->as, format_size(&size, (uint64_t)traffic_bytes(t, k)),
		    k->times == 1 ? "once" : arena_printf(s->a, "%.4g times", k->times),
		    replay_what(t), traffic_where(t, k, s->a));
	fix = advice(t, k);
	if (fix)
		finding_fix(f, "%s", fix);
	finding_value(f, part * 100, "%");
	verdict_add(s->r, f);
}

/* --- what the recording is
 * --------------------------------------------------------------------------- */

/* What is not done as it was. */
static void say_unlike(const struct story *s, struct text *t)
{
	const struct traffic *all = s->o->replay;
	size_t uneven = 0, cut = 0;

	for (size_t i = 0; i < all->kinds.n; i++) {
		uneven += all->kinds.v[i].uneven;
		cut += s->replay.kinds[i].scale > 1;
	}
	if (uneven)
		text_addf(t,
			  "; %zu kind%s had uneven parts, and has as many bytes in even ones here",
			  uneven, uneven == 1 ? "" : "s");
	if (cut)
		text_addf(t,
			  "; %zu had no room in memory or time and %s done smaller, the time is "
			  "reckoned up",
			  cut, cut == 1 ? "was" : "were");
}

static void judge_world(const struct story *s)
{
	const struct traffic *t = s->o->replay;
	struct finding *f = report_find(s->r, "replay.recording", NULL);
	struct text more;
	uint64_t left = 0;

	text_init(&more, s->a);
	for (size_t i = 0; i < t->notes.n; i++)
		text_addf(&more, "; %s", t->notes.v[i]);
	for (size_t i = 0; i < t->left.n; i++)
		left += t->left.v[i].n;
	say_unlike(s, &more);
	for (size_t i = 0; i < t->left.n && i < 4; i++)
		text_addf(&more, "%s%ju %s", i ? ", " : "; left out: ", (uintmax_t)t->left.v[i].n,
			  t->left.v[i].what);
	if (t->missing.n)
		text_addf(&more,
			  "; of %zu of the %d ranks there is no recording (the first is rank "
			  "%d): what only these did is not here",
			  t->missing.n, t->ranks, t->missing.v[0]);
	finding_set(f, left || t->missing.n || t->is_mixed ? ST_WARN : ST_INFO,
		    "%zu file%s of %s, %d ranks%s", t->files, t->files == 1 ? "" : "s", t->source,
		    t->ranks, more.s);
	if (t->missing.n)
		finding_fix(f, "- copy the files of all ranks from their hosts into one folder");
	if (t->is_mixed)
		finding_fix(f, "- was another job meant? Give --replay its files alone; a folder "
			       "for each job keeps them apart");
	verdict_add(s->r, f);
}

void replay_judge(const struct story *s, const struct replay_sum *sum)
{
	judge_world(s);
	judge_data(s);
	if (!(sum->now_s > 0))
		return;
	judge_time(s, sum);
	judge_costly(s, sum);
	replay_judge_groups(s, sum);
}
