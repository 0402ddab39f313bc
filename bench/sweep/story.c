#include "bench/sweep/story.h"

#include "bench/ranks/relay.h"
#include "bench/sweep/table.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <math.h>

void story_init(struct story *s, const struct story_opts *o, struct report *r)
{
	*s = (struct story){.o = o, .r = r, .a = report_arena(r), .sweep = o->sweep, .lost = -1};
}

/* --- rows ------------------------------------------------------------------------ */

static void put_numbers(cJSON *o, const char *key, const double *v, size_t n)
{
	cJSON *list = v ? json_array(o, key) : NULL;

	for (size_t i = 0; v && i < n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(v[i]));
}

/* NULL where there are none. */
static const double *get_numbers(struct story *s, const cJSON *o, const char *key, size_t *ret_n)
{
	const cJSON *list = json_get(o, key), *v;
	double *copy;

	*ret_n = 0;
	if (!cJSON_IsArray(list))
		return NULL;
	copy = arena_alloc(s->a, ((size_t)cJSON_GetArraySize(list) + 1) * sizeof(*copy));
	cJSON_ArrayForEach (v, list)
		copy[(*ret_n)++] = v->valuedouble;
	return copy;
}

static void put_half(cJSON *event, const char *key, const struct measurement *m, size_t ranks,
		     bool with_times)
{
	cJSON *o = json_object(event, key);

	json_num(o, "s", m->seconds);
	json_num(o, "alg", m->algbw);
	json_num(o, "bus", m->busbw);
	json_num(o, "min", m->min);
	json_num(o, "max", m->max);
	json_num(o, "p50", m->p50);
	json_num(o, "p99", m->p99);
	json_num(o, "dev", m->deviation);
	json_num(o, "wrong", (double)m->wrong);
	json_num(o, "wire", m->wire);
	put_numbers(o, "ranks", m->rank_s, ranks);
	put_numbers(o, "waited", m->waited, ranks);
	put_numbers(o, "times", with_times ? m->times : NULL, m->ntimes);
	put_numbers(o, "each", with_times ? m->each : NULL, m->ntimes * ranks);
}

cJSON *story_row_event(const struct sweep_row *row, bool with_times)
{
	cJSON *event = relay_event("row");

	json_num(event, "type", row->c->type);
	json_num(event, "op", row->c->op);
	json_num(event, "root", row->c->root);
	json_num(event, "count", (double)row->c->sizes.count);
	put_half(event, "out", &row->out, (size_t)row->c->ranks, with_times);
	put_half(event, "in", &row->in, (size_t)row->c->ranks, with_times);
	return event;
}

static void get_half(struct story *s, const cJSON *event, const char *key, struct measurement *m)
{
	const cJSON *o = json_get(event, key);
	size_t n;

	m->seconds = json_get_num(o, "s", 0);
	m->algbw = json_get_num(o, "alg", 0);
	m->busbw = json_get_num(o, "bus", 0);
	m->min = json_get_num(o, "min", 0);
	m->max = json_get_num(o, "max", 0);
	m->p50 = json_get_num(o, "p50", 0);
	m->p99 = json_get_num(o, "p99", 0);
	m->deviation = json_get_num(o, "dev", 0);
	m->wrong = (int64_t)json_get_num(o, "wrong", -1);
	m->wire = json_get_num(o, "wire", NAN);
	m->times = get_numbers(s, o, "times", &m->ntimes);
	m->each = get_numbers(s, o, "each", &n);
	if (n != m->ntimes * s->ranks.n)
		m->each = NULL;
	m->rank_s = get_numbers(s, o, "ranks", &n);
	if (n != s->ranks.n)
		m->rank_s = NULL;
	m->waited = get_numbers(s, o, "waited", &n);
	if (n != s->ranks.n)
		m->waited = NULL;
}

static void on_row(struct story *s, const cJSON *event)
{
	unsigned type = (unsigned)json_get_num(event, "type", 0),
		 op = (unsigned)json_get_num(event, "op", 0);
	struct story_row *row;
	struct coll_case c = {.coll = s->sweep.coll, .ranks = (int)s->ranks.n};

	if (type >= DT_COUNT || op >= OP_COUNT || !s->begun)
		return;
	c.type = (enum dtype)type;
	c.op = (enum redop)op;
	c.root = (int)json_get_num(event, "root", 0);
	c.coll->sizes(c.ranks, (size_t)json_get_num(event, "count", 0), &c.sizes);
	row = LIST_ADD(s->a, &s->rows);
	row->c = c;
	get_half(s, event, "out", &row->row.out);
	get_half(s, event, "in", &row->row.in);
	for (size_t i = 0; i < s->rows.n; i++) /* the list may have moved */
		s->rows.v[i].row.c = &s->rows.v[i].c;
	sweep_totals_add(&s->totals, &row->row);
	table_row(s, &row->row);
}

/* --- the world ---------------------------------------------------------------------- */

static const char *copied(struct story *s, const cJSON *o, const char *key)
{
	const char *v = json_get_str(o, key);

	return arena_strdup(s->a, v ? v : "");
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
	}
}

static void on_world(struct story *s, const cJSON *event)
{
	const cJSON *o, *note;

	s->backend = copied(s, event, "backend");
	s->transport = copied(s, event, "transport");
	s->device = copied(s, event, "device");
	if (json_get_str(event, "launcher")) {
		s->launcher = copied(s, event, "launcher");
		s->launcher_from = copied(s, event, "launcher_from");
	}
	s->sweep.max = (uint64_t)json_get_num(event, "max", (double)s->sweep.max);
	cJSON_ArrayForEach (o, json_get(event, "ranks"))
		*LIST_ADD(s->a, &s->ranks) = (struct bench_rank){
			.host = copied(s, o, "host"),
			.address = copied(s, o, "address"),
			.device = copied(s, o, "device"),
			.instance = json_get_str(o, "instance") ? copied(s, o, "instance") : NULL,
			.pid = (int)json_get_num(o, "pid", 0),
			.nic_gbps = json_get_num(o, "nic_gbps", NAN)};
	for (size_t i = 0; s->o->notes && s->o->notes[i]; i++)
		*LIST_ADD(s->a, &s->notes) = s->o->notes[i];
	cJSON_ArrayForEach (note, json_get(event, "notes"))
		if (cJSON_IsString(note))
			*LIST_ADD(s->a, &s->notes) = arena_strdup(s->a, note->valuestring);
	s->begun = true;
	s->total = sweep_count(&s->sweep, (int)s->ranks.n);
	pace_begin(&s->pace, &s->sweep, s->total);
	if (json_get_num(event, "table", 1) > 0)
		table_begin(s);
	else
		table_intro(s);
	if (report_wants_data(s->r))
		add_world(s);
}

/* --- how it ended -------------------------------------------------------------------- */

static size_t accusers(const struct story *s, int rank)
{
	size_t n = 0;

	for (size_t i = 0; i < s->accusations.n; i++) {
		const struct accusation *x = &s->accusations.v[i];

		n += x->by != rank && (x->rank == rank || x->other == rank);
	}
	return n;
}

/* "nothing passes between rank 1 (...) and rank 2 (...)": 2. */
static int other_of(const char *message)
{
	const char *and = strstr(message, ") and rank ");

	return starts_with(message, "nothing passes") && and? (int)strtol(and+strlen(") and rank "),
									  NULL, 10)
							    : -1;
}

/* A library that loses its peer in the middle of a copy may abort, as MPICH's UCX does. */
static bool is_echo(const struct story *s, int rank)
{
	const char *cause = (size_t)rank < s->causes.n ? s->causes.v[rank] : NULL;

	return cause && strstr(cause, "SIGABRT");
}

/* Of one who aborted and one who did not, the other came first, whichever is heard first. */
static bool is_first(const struct story *s, int rank)
{
	return s->lost < 0 || (is_echo(s, s->lost) && !is_echo(s, rank));
}

/*
 * Whom most accuse: a rank that is cut off hears nobody's words, and holds
 * whomever it was waiting for to be at fault. Of two who are accused alike, it is
 * what lies between them.
 */
static void on_lost(struct story *s, const cJSON *event)
{
	const char *message = copied(s, event, "message");
	const struct accusation new = {.by = (int)json_get_num(event, "by", -1),
				       .rank = (int)json_get_num(event, "rank", -1),
				       .other = other_of(message),
				       .message = message};
	size_t most = 0;

	log_debug("rank %d says of rank %d: %s", new.by, new.rank, message);
	*LIST_ADD(s->a, &s->accusations) = new;
	for (size_t i = 0; i < s->accusations.n; i++) {
		const struct accusation *x = &s->accusations.v[i];
		size_t n = accusers(s, x->rank) * 2;

		n += x->other >= 0 && accusers(s, x->other) == accusers(s, x->rank);
		if (n <= most || (is_echo(s, x->rank) && !is_first(s, x->rank)))
			continue;
		most = n;
		s->lost = x->rank;
		s->lost_message = x->message;
	}
}

static void on_crew(struct story *s, const cJSON *event)
{
	const cJSON *o;

	if (json_get_str(event, "failure"))
		s->failure = copied(s, event, "failure");
	cJSON_ArrayForEach (o, json_get(event, "ranks"))
		*LIST_ADD(s->a, &s->causes) =
			json_get_str(o, "cause") ? copied(s, o, "cause") : NULL;
	cJSON_ArrayForEach (o, json_get(event, "hosts"))
		if (json_get_str(o, "trouble")) {
			*LIST_ADD(s->a, &s->host_trouble) = copied(s, o, "trouble");
			*LIST_ADD(s->a, &s->host_names) = copied(s, o, "name");
			*LIST_ADD(s->a, &s->host_fixes) = copied(s, o, "fix");
		}
}

/* A rank behind mpirun, in the words of who saw it die. Others that die of it come later,
 * but for echoes. */
static void on_died(struct story *s, const cJSON *event)
{
	double rank = json_get_num(event, "rank", -1);
	size_t r = (size_t)rank;

	if (rank < 0 || rank >= (double)s->ranks.n)
		return;
	while (s->causes.n <= r)
		*LIST_ADD(s->a, &s->causes) = NULL;
	if (!s->causes.v[r])
		s->causes.v[r] = copied(s, event, "cause");
	if (!is_first(s, (int)r))
		return;
	s->lost = (int)r;
	s->lost_message = arena_printf(s->a, "rank %zu (%s, %s) died: %s", r, s->ranks.v[r].host,
				       s->ranks.v[r].address, s->causes.v[r]);
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

static void on_broke(struct story *s, const cJSON *event)
{
	if (s->error.kind)
		return;
	(void)err_set(&s->error, (enum err_kind)json_get_num(event, "kind", ERR_SYS), "%s",
		      copied(s, event, "message"));
	if (*copied(s, event, "hint"))
		(void)err_hint(&s->error, "%s", copied(s, event, "hint"));
	if (json_get_str(event, "check"))
		s->failed_check = copied(s, event, "check");
}

static void on_units(struct story *s, const cJSON *event)
{
	const cJSON *o;

	cJSON_ArrayForEach (o, json_get(event, "ranks"))
		if (o->valuedouble >= 0 && o->valuedouble < (double)s->ranks.n)
			*LIST_ADD(s->a, &s->units) = (int)o->valuedouble;
	cJSON_ArrayForEach (o, json_get(event, "rails"))
		*LIST_ADD(s->a, &s->rails) = (struct story_rail){
			.name = copied(s, o, "name"), .gbps = json_get_num(o, "gbps", NAN)};
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
	const struct story_pair p = {.a = (int)json_get_num(event, "a", -1),
				     .b = (int)json_get_num(event, "b", -1),
				     .rail = (int)json_get_num(event, "rail", -1),
				     .latency_s = json_get_num(event, "latency", NAN),
				     .gbps = json_get_num(event, "gbps", NAN),
				     .lost = json_get_num(event, "lost", NAN),
				     .unhindered = json_get_num(event, "unhindered", NAN),
				     .meanwhile = json_get_num(event, "meanwhile", NAN)};
	int n = (int)s->units.n;

	if (p.a >= 0 && p.b >= 0 && p.a < n && p.b < n && p.rail < (int)s->rails.n)
		*LIST_ADD(s->a, &s->pairs) = p;
}

static void on_next(struct story *s, const cJSON *event)
{
	double of = json_get_num(event, "of", -1); /* pairs know; a sweep's rows were counted */
	uint64_t left = of < 0 ? pace_next(&s->pace, now_ns()) : 0;
	const char *what = copied(s, event, "what");
	struct unit_buf b;

	if (left >= NS_PER_S)
		what = arena_printf(s->a, "%s, %s left,", what,
				    format_duration(&b, left - left % NS_PER_S));
	log_progress(what, (uint64_t)json_get_num(event, "done", 0),
		     of < 0 ? s->total : (uint64_t)of);
}

static void on_timed_out(struct story *s, const cJSON *event UNUSED) { s->timed_out = true; }

void story_event(const cJSON *event, void *story)
{
	static const struct {
		const char *name;
		void (*take)(struct story *s, const cJSON *event);
	} known[] = {
		{"world", on_world},	     {"next", on_next},	  {"row", on_row},
		{"units", on_units},	     {"rail", on_rail},	  {"pair", on_pair},
		{"lost", on_lost},	     {"died", on_died},	  {"finding", on_finding},
		{"counters", on_counters},   {"broke", on_broke}, {"crew", on_crew},
		{"timed_out", on_timed_out},
	};
	const char *name = json_get_str(event, "ev");

	for (size_t i = 0; name && i < ARRAY_LEN(known); i++)
		if (streq(name, known[i].name))
			known[i].take(story, event);
}
