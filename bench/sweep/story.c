#include "bench/sweep/story.h"

#include "bench/ranks/relay.h"
#include "bench/sweep/table.h"
#include "lib/cluster/world.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <math.h>

void story_init(struct story *s, const struct story_opts *o, struct report *r)
{
	*s = (struct story){.o = o,
			    .r = r,
			    .a = report_arena(r),
			    .begun_ns = now_ns(),
			    .sweep = o->sweep,
			    .blame = BLAME_NOBODY,
			    .lost = -1};
}

/* --- the world ---------------------------------------------------------------------- */

static const char *copied(struct story *s, const cJSON *o, const char *key)
{
	return json_copy(s->a, o, key) ?: "";
}

static void add_world(struct story *s)
{
	cJSON *world = json_object(report_data(s->r), "world"), *ranks = json_array(world, "ranks");

	json_str(world, "launcher", s->launcher);
	json_str(world, "launcher_from", s->launcher_from);
	json_str(report_data(s->r), "backend", s->backend);
	json_str(report_data(s->r), "transport", s->transport);
	for (size_t i = 0; i < s->ranks.n; i++) {
		cJSON *o = json_push_object(ranks);

		json_num(o, "rank", (double)i);
		json_str(o, "host", s->ranks.v[i].host);
		json_str(o, "address", s->ranks.v[i].address);
		json_str(o, "device", s->ranks.v[i].device);
		json_num(o, "group", s->o->groups ? s->ranks.v[i].group : NAN);
	}
}

void story_spread(struct story *s)
{
	const char **keys = arena_alloc(s->a, (s->ranks.n + 1) * sizeof(*keys));

	for (size_t i = 0; i < s->ranks.n; i++)
		keys[i] = hosts_key(s->a, s->ranks.v[i].host, s->ranks.v[i].machine);
	hosts_of(keys, s->ranks.n, s->a, &s->spread);
}

static void on_world(struct story *s, const cJSON *event)
{
	const cJSON *o, *note;

	s->backend = copied(s, event, "backend");
	s->transport = copied(s, event, "transport");
	s->device = copied(s, event, "device");
	s->version = json_get_int(event, "version", 0);
	if (json_get_str(event, "launcher")) {
		s->launcher = copied(s, event, "launcher");
		s->launcher_from = copied(s, event, "launcher_from");
	}
	s->sweep.max = json_get_count(event, "max", s->sweep.max);
	s->sweep.graph = json_get_count(event, "graph", 0);
	cJSON_ArrayForEach (o, json_get(event, "ranks"))
		*LIST_ADD(s->a, &s->ranks) = (struct bench_rank){
			.host = copied(s, o, "host"),
			.machine = copied(s, o, "machine"),
			.address = copied(s, o, "address"),
			.device = copied(s, o, "device"),
			.instance = json_copy(s->a, o, "instance"),
			.bus = json_copy(s->a, o, "bus"),
			.gpu = json_get_int(o, "gpu", 0),
			.pid = json_get_int(o, "pid", 0),
			.group = json_get_int(o, "group", s->o->groups ? -1 : 0),
			.gpus = json_get_int(o, "gpus", 0),
			.nic_gbps = json_get_num(o, "nic_gbps", NAN)};
	story_spread(s);
	story_groups_begin(s);
	if (s->sweep.for_ns)
		burnin_begin(s);
	for (size_t i = 0; s->o->notes && s->o->notes[i]; i++)
		*LIST_ADD(s->a, &s->notes) = s->o->notes[i];
	cJSON_ArrayForEach (note, json_get(event, "notes"))
		if (cJSON_IsString(note))
			*LIST_ADD(s->a, &s->notes) = arena_strdup(s->a, note->valuestring);
	s->begun = true;
	s->total = sweep_count(&s->sweep, story_roots(s));
	pace_begin(&s->pace, &s->sweep, s->total);
	s->has_table = json_get_num(event, "table", 1) > 0;
	if (s->has_table)
		table_begin(s);
	else
		table_intro(s);
	if (report_wants_data(s->r))
		add_world(s);
}

double story_average(const struct story *s)
{
	const struct sweep_totals *sum = &s->totals;

	return sum->rows ? sum->busbw_sum / 2 / (double)sum->rows : 0;
}

double story_least_average(const struct story *s) { return s->o->least_average * 0.9; }

bool story_average_is_enough(const struct story *s)
{
	return story_average(s) >= story_least_average(s);
}

size_t story_hosts(const struct story *s) { return s->spread.n; }

bool story_are_together(const struct story *s, size_t a, size_t b)
{
	return s->spread.of[a] == s->spread.of[b];
}

/* --- how it ended -------------------------------------------------------------------- */

static void take_blame(struct story *s)
{
	s->burnin.lost_ns = s->burnin.lost_ns ?: now_ns();
	s->lost = s->blame.rank;
	s->lost_message = s->blame.message;
}

static void on_lost(struct story *s, const cJSON *event)
{
	blame_accuse(&s->blame, s->a, json_get_int(event, "by", -1),
		     json_get_int(event, "rank", -1), copied(s, event, "message"));
	take_blame(s);
}

static void on_crew(struct story *s, const cJSON *event)
{
	const cJSON *o;

	s->failure = json_copy(s->a, event, "failure") ?: s->failure;
	s->failure_fix = json_copy(s->a, event, "fix");
	s->between = json_copy(s->a, event, "between");
	cJSON_ArrayForEach (o, json_get(event, "ranks"))
		blame_end(&s->blame, s->a, json_copy(s->a, o, "cause"));
	cJSON_ArrayForEach (o, json_get(event, "hosts"))
		if (json_get_str(o, "trouble")) {
			*LIST_ADD(s->a, &s->host_trouble) = copied(s, o, "trouble");
			*LIST_ADD(s->a, &s->host_names) = copied(s, o, "name");
			*LIST_ADD(s->a, &s->host_fixes) = copied(s, o, "fix");
		}
}

/* A rank behind mpirun, in the words of who saw it die. */
static void on_died(struct story *s, const cJSON *event)
{
	size_t r = json_get_count(event, "rank", SIZE_MAX);
	const char *name;

	if (r >= (s->ranks.n ? s->ranks.n : WORLD_MAX))
		return;
	name = s->ranks.n ? arena_printf(s->a, "rank %zu (%s, %s)", r, s->ranks.v[r].host,
					 s->ranks.v[r].address)
			  : arena_printf(s->a, "rank %zu", r); /* before they all had met */
	blame_death(&s->blame, s->a, r, name, copied(s, event, "cause"));
	take_blame(s);
}

static void on_finding(struct story *s, const cJSON *event)
{
	struct finding *f =
		report_find(s->r, copied(s, event, "check"), copied(s, event, "subject"));

	finding_set(f, json_get_num(event, "warns", 0) > 0 ? ST_WARN : ST_FAIL, "%s",
		    copied(s, event, "message"));
	if (json_get_str(event, "fix"))
		finding_fix(f, "%s", copied(s, event, "fix"));
	*LIST_ADD(s->a, &s->findings) = f;
}

static void on_counters(struct story *s, const cJSON *event)
{
	struct story_counters *c = LIST_ADD(s->a, &s->counters);

	counters_unpack(event, s->a, &c->before, &c->after, &c->host);
}

/* Connections were made since. */
static void on_ways(struct story *s, const cJSON *event)
{
	s->transport = copied(s, event, "transport");
	if (s->has_table)
		table_note(s->r, "in the end: %s", s->transport);
	if (!report_wants_data(s->r))
		return;
	cJSON_DeleteItemFromObject(report_data(s->r), "transport");
	json_str(report_data(s->r), "transport", s->transport);
}

/* The first is the cause; but whose it is says more of it than who heard that from others. */
static void on_broke(struct story *s, const cJSON *event)
{
	bool is_own = json_get(event, "rank"), is_finding = json_get_str(event, "check");

	if (is_finding && is_own && !s->broke.ranks++) {
		s->broke.first = json_get_int(event, "rank", -1);
		s->broke.of = json_get_int(event, "of", 0);
		s->broke.host = copied(s, event, "host");
	}
	if (s->broke.is_hearsay && is_own && is_finding)
		s->error = (struct err){0};
	if (s->error.kind)
		return;
	relay_error_take(event, &s->error);
	s->broke.is_hearsay = is_finding && !is_own;
	if (is_finding)
		s->failed_check = copied(s, event, "check");
}

static bool is_rank(const struct story *s, const cJSON *o)
{
	return o->valuedouble >= 0 && o->valuedouble < (double)s->ranks.n;
}

static void on_units(struct story *s, const cJSON *event)
{
	const cJSON *o, *rank;

	cJSON_ArrayForEach (o, json_get(event, "ranks"))
		if (is_rank(s, o))
			*LIST_ADD(s->a, &s->units) = (int)o->valuedouble;
	cJSON_ArrayForEach (o, json_get(event, "rails")) {
		struct story_rail *rail = LIST_ADD(s->a, &s->rails);

		*rail = (struct story_rail){.name = copied(s, o, "name"),
					    .gbps = json_get_num(o, "gbps", NAN)};
		cJSON_ArrayForEach (rank, json_get(o, "ranks"))
			if (is_rank(s, rank))
				*LIST_ADD(s->a, &rail->ranks) = (int)rank->valuedouble;
	}
}

static void on_rail(struct story *s, const cJSON *event)
{
	for (size_t i = 0; i < s->rails.n; i++) {
		struct story_rail *r = &s->rails.v[i];

		if (!streq(r->name, copied(s, event, "name")))
			continue;
		r->trouble = copied(s, event, "message");
		r->asked = json_get_num(event, "asked", 0) > 0;
	}
}

static void on_pair(struct story *s, const cJSON *event)
{
	const struct story_pair p = {.a = json_get_int(event, "a", -1),
				     .b = json_get_int(event, "b", -1),
				     .rail = json_get_int(event, "rail", -1),
				     .latency_s = json_get_num(event, "latency", NAN),
				     .gbps = json_get_num(event, "gbps", NAN),
				     .sent = json_get_num(event, "sent", NAN),
				     .again = json_get_num(event, "again", NAN),
				     .unhindered = json_get_num(event, "unhindered", NAN),
				     .meanwhile = json_get_num(event, "meanwhile", NAN)};
	int n = (int)s->units.n;

	if (p.a >= 0 && p.b >= 0 && p.a < n && p.b < n && p.rail < (int)s->rails.n)
		*LIST_ADD(s->a, &s->pairs) = p;
}

static void on_next(struct story *s, const cJSON *event)
{
	double of = json_get_num(event, "of", -1); /* pairs know; a sweep's rows were counted */
	const char *what = json_text(event, "what");
	uint64_t left;
	struct unit_buf b;

	if (s->begun && s->sweep.for_ns) {
		burnin_next(s, what);
		return;
	}
	left = of < 0 ? pace_next(&s->pace, now_ns()) : 0;
	if (left >= NS_PER_S)
		what = arena_printf(s->a, "%s, %s left,", what,
				    format_duration(&b, left - left % NS_PER_S));
	log_progress(what, json_get_count(event, "done", 0), json_get_count(event, "of", s->total));
}

static void on_fitted(struct story *s, const cJSON *event)
{
	s->timed_out = cJSON_IsTrue(json_get(event, "timed_out"));
	s->fewer_from = json_get_count(event, "fewer_from", 0);
}

static void on_resent(struct story *s, const cJSON *event)
{
	resent_event(event, (int)s->ranks.n, &s->resent);
}

static void on_replayed(struct story *s, const cJSON *event) { replay_event(event, s); }

void story_event(const cJSON *event, void *story)
{
	static const struct {
		const char *name;
		void (*take)(struct story *s, const cJSON *event);
	} known[] = {
		{"world", on_world},
		{"next", on_next},
		{"row", story_row_event},
		{"units", on_units},
		{"rail", on_rail},
		{"pair", on_pair},
		{"lost", on_lost},
		{"died", on_died},
		{"finding", on_finding},
		{"counters", on_counters},
		{"broke", on_broke},
		{"crew", on_crew},
		{"fitted", on_fitted},
		{"replayed", on_replayed},
		{"ways", on_ways},
		{"resent", on_resent},
		{"groups", story_groups_event},
		{"at_once", story_at_once_event},
	};
	const char *name = json_get_str(event, "ev");

	for (size_t i = 0; name && i < ARRAY_LEN(known); i++)
		if (streq(name, known[i].name))
			known[i].take(story, event);
}
