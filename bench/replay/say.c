/* What ranks tell of it, as a table and as data. */
#include "bench/sweep/story.h"
#include "bench/sweep/verdict.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <math.h>

/* --- events ----------------------------------------------------------------------------------- */

void replay_event(const cJSON *event, struct story *s)
{
	const struct traffic *t = s->o->replay;
	double kind = json_get_num(event, "kind", -1), us = json_get_num(event, "us", -1);
	double slowest = json_get_num(event, "slowest", -1),
	       fastest = json_get_num(event, "fastest", slowest);
	const char *why = json_get_str(event, "why");
	struct replay_kind *k;

	if (!t)
		return;
	if (!s->replay.kinds)
		s->replay.kinds = arena_alloc(s->a, (t->kinds.n + 1) * sizeof(*k));
	if (json_get_num(event, "passes", 0) > 0) {
		s->replay.passes = json_get_num(event, "passes", 0);
		s->replay.in_order_s = json_get_num(event, "in_order_s", NAN);
	}
	if (!(kind >= 0 && kind < (double)t->kinds.n))
		return;
	k = &s->replay.kinds[(size_t)kind];
	*k = (struct replay_kind){.why = why ? arena_strdup(s->a, why) : NULL, .scale = 1};
	if (!(us > 0) || !(slowest >= 0 && slowest < (double)t->groups.n))
		return;
	k->done = true;
	k->us = us;
	k->least_us = json_get_num(event, "least_us", us);
	k->wrong = json_get_num(event, "wrong", 0);
	k->scale = json_get_num(event, "scale", 1);
	k->slowest = (uint32_t)slowest;
	k->fastest = fastest >= 0 && fastest < (double)t->groups.n ? (uint32_t)fastest : k->slowest;
}

/* --- the table -------------------------------------------------------------------------------- */

static double busbw(const struct traffic *t, const struct traffic_kind *k,
		    const struct replay_kind *now)
{
	struct coll_case c = traffic_case(t, k);

	return now->done ? coll_algbw(&c, now->us / 1e6) * c.coll->factor(c.ranks) : NAN;
}

static const char *number(struct arena *a, double v, int decimals)
{
	return isnan(v) ? "-" : arena_printf(a, "%.*f", decimals, v);
}

static double share(const struct story *s, const struct replay_sum *sum, size_t i)
{
	return sum->now_s > 0 ? replay_kind_s(s->o->replay, s->replay.kinds, i) / sum->now_s : NAN;
}

static void say_row(const struct story *s, const struct replay_sum *sum, size_t i, struct text *t)
{
	const struct traffic *all = s->o->replay;
	const struct traffic_kind *k = &all->kinds.v[i];
	const struct replay_kind *now = &s->replay.kinds[i];
	double us = now->done ? now->us : NAN;
	struct unit_buf size;

	text_addf(t, "  %9s  %-14s %-10s %9s %10s %8s %8s %10s %6s  %s\n",
		  number(s->a, k->times, k->times < 10 && k->times != floor(k->times)), k->as,
		  dtype_name(k->type), format_size(&size, (uint64_t)traffic_bytes(all, k)),
		  number(s->a, us, 1), number(s->a, busbw(all, k, now), 2),
		  now->done ? number(s->a, share(s, sum, i) * 100, 0) : "-",
		  number(s->a, k->then_us, 1), number(s->a, k->then_us / us, 2),
		  traffic_where(all, k, s->a));
}

static void say_table(const struct story *s, const struct replay_sum *sum)
{
	enum { ROWS = 24 };
	const struct traffic *all = s->o->replay;
	struct text t;

	if (report_is_quiet(s->r))
		return;
	text_init(&t, s->a);
	text_addf(&t, "# %9s  %-14s %-10s %9s %10s %8s %8s %10s %6s  %s\n", "times", "collective",
		  "type", "size", "time (us)", "GB/s bus", "time (%)", "then (us)", "ratio",
		  "between");
	for (size_t i = 0; i < all->kinds.n && i < ROWS; i++)
		say_row(s, sum, i, &t);
	if (all->kinds.n > ROWS)
		text_addf(&t, "# and %zu kinds more that move less (--json has them all)\n",
			  all->kinds.n - ROWS);
	report_answer(s->r, t.s, t.n);
}

/* --- data.replay ------------------------------------------------------------------------------ */

static void put_kind(const struct story *s, const struct replay_sum *sum, size_t i, cJSON *o)
{
	const struct traffic *t = s->o->replay;
	const struct traffic_kind *k = &t->kinds.v[i];
	const struct replay_kind *now = &s->replay.kinds[i];
	double us = now->done ? now->us : NAN;

	json_str(o, "coll", k->as);
	json_str(o, "group", t->families.v[k->family].name);
	json_num(o, "ranks", t->families.v[k->family].n);
	json_num(o, "groups", (double)k->groups.n);
	json_str(o, "between", traffic_where(t, k, s->a));
	json_num(o, "size", traffic_bytes(t, k));
	json_num(o, "count", (double)k->count);
	json_str(o, "dtype", dtype_name(k->type));
	json_bool(o, "uneven", k->uneven);
	json_num(o, "times", k->times);
	json_num(o, "time_us", us);
	json_num(o, "busbw", busbw(t, k, now));
	json_num(o, "share", now->done ? share(s, sum, i) : NAN);
	json_num(o, "wrong", now->done && now->wrong >= 0 ? now->wrong : NAN);
	json_num(o, "then_us", k->then_us);
	json_num(o, "then_mean_us", k->waited_us);
	json_num(o, "ratio", k->then_us / us);
	if (now->done && now->scale > 1)
		json_num(o, "cut_by", now->scale);
	if (!now->done)
		json_str(o, "left_out", now->why ?: "its time was over");
}

static void put_recording(const struct traffic *t, cJSON *o)
{
	cJSON *list;

	json_str(o, "source", t->source);
	json_num(o, "files", (double)t->files);
	json_num(o, "ranks", t->ranks);
	json_num(o, "steps", (double)t->steps);
	json_num(o, "step_s", t->step_s);
	list = json_array(o, "missing");
	for (size_t i = 0; i < t->missing.n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(t->missing.v[i]));
	list = json_array(o, "left_out");
	for (size_t i = 0; i < t->left.n; i++) {
		cJSON *left = json_push_object(list);

		json_str(left, "what", t->left.v[i].what);
		json_num(left, "times", (double)t->left.v[i].n);
	}
	list = json_array(o, "notes");
	for (size_t i = 0; i < t->notes.n; i++)
		json_push_str(list, t->notes.v[i]);
}

static void put_data(const struct story *s, const struct replay_sum *sum)
{
	cJSON *o = json_object(report_data(s->r), "replay"), *kinds;
	bool timed = sum->then_s > 0;

	put_recording(s->o->replay, o);
	json_num(o, "busiest_rank", sum->rank);
	json_num(o, "collectives", sum->calls);
	json_num(o, "bytes", sum->bytes);
	json_num(o, "now_s", sum->now_s);
	json_num(o, "in_order_s", s->replay.passes > 0 ? s->replay.in_order_s : NAN);
	json_num(o, "passes", s->replay.passes);
	json_num(o, "timed_now_s", timed ? sum->timed_s : NAN);
	json_num(o, "then_s", timed ? sum->then_s : NAN);
	json_num(o, "then_mean_s", timed ? sum->waited_s : NAN);
	kinds = json_array(o, "kinds");
	for (size_t i = 0; i < s->o->replay->kinds.n; i++)
		put_kind(s, sum, i, json_push_object(kinds));
}

void replay_verdict(const struct story *s)
{
	struct replay_sum sum;

	if (!s->o->replay || !s->begun || !s->replay.kinds)
		return;
	replay_add_up(s->o->replay, s->replay.kinds, s->a, &sum);
	say_table(s, &sum);
	if (report_wants_data(s->r))
		put_data(s, &sum);
	replay_judge(s, &sum);
}
