/* data.flight: what the dumps hold, for programs. */
#include "lib/report/json.h"
#include "probes/flight/judge.h"
#include "probes/log/dumps.h"

struct reached {
	int64_t enqueued, started, completed; /* -1: not known */
};

static void see(struct reached *r, const struct flight_entry *e, bool tells_start)
{
	if ((int64_t)e->seq > r->enqueued)
		r->enqueued = e->seq;
	if (tells_start && e->state >= FLIGHT_STARTED && (int64_t)e->seq > r->started)
		r->started = e->seq;
	if (e->state == FLIGHT_COMPLETED && (int64_t)e->seq > r->completed)
		r->completed = e->seq;
}

static struct reached *reached(struct arena *a, const struct flight_dump *d, size_t ngroups)
{
	struct reached *v = arena_alloc(a, (ngroups + 1) * sizeof(*v));

	for (size_t i = 0; i < ngroups; i++)
		v[i] = (struct reached){-1, -1, -1};
	for (size_t i = 0; i < d->status.n; i++)
		v[d->status.v[i].group] = (struct reached){
			d->status.v[i].enqueued, d->status.v[i].started, d->status.v[i].completed};
	for (size_t i = 0; i < d->entries.n; i++)
		if (!d->entries.v[i].is_p2p && !d->entries.v[i].is_part)
			see(&v[d->entries.v[i].group], &d->entries.v[i], d->tells_start);
	return v;
}

static void number(cJSON *o, const char *key, int64_t n)
{
	if (n >= 0)
		json_num(o, key, (double)n);
}

static void one_dump(const struct flight_dump *d, cJSON *list)
{
	cJSON *o = json_push_object(list);

	number(o, "rank", d->rank);
	json_str(o, "file", d->path);
	json_str(o, "version", *d->version ? d->version : NULL);
	json_bool(o, "cut", d->is_cut);
	json_num(o, "entries", (double)d->entries.n);
	if (d->entries.n)
		json_num(o, "first_record", (double)d->entries.v[0].record);
}

static void members(const struct flight *f, const struct flight_dump *d, cJSON **of)
{
	AUTO(arena_done) struct arena a = {0};
	struct reached *v = reached(&a, d, f->groups.n);

	for (size_t i = 0; i < d->groups.n; i++) {
		cJSON *o = json_push_object(of[d->groups.v[i]]);

		number(o, "rank", d->rank);
		number(o, "enqueued", v[d->groups.v[i]].enqueued);
		number(o, "started", v[d->groups.v[i]].started);
		number(o, "completed", v[d->groups.v[i]].completed);
	}
}

void dumps_data(const struct why *w, const struct explanation *x, cJSON *o)
{
	AUTO(arena_done) struct arena a = {0};
	const struct flight *f = w->flight;
	cJSON *flight, *dumps, *groups, **of;

	if (!f)
		return;
	of = arena_alloc(&a, (f->groups.n + 1) * sizeof(cJSON *));
	flight = json_object(o, "flight");
	json_bool(flight, "hangs", x->flight && x->flight->dumps && !x->flight->healthy);
	dumps = json_array(flight, "dumps");
	groups = json_array(flight, "groups");
	for (size_t i = 0; i < f->groups.n; i++) {
		const struct flight_group *g = &f->groups.v[i];
		cJSON *one = json_push_object(groups), *ranks = json_array(one, "ranks");

		json_str(one, "name", g->name);
		json_str(one, "description", *g->desc ? g->desc : NULL);
		for (size_t k = 0; k < g->n; k++)
			cJSON_AddItemToArray(ranks, cJSON_CreateNumber(g->ranks[k]));
		of[i] = json_array(one, "members");
	}
	for (size_t i = 0; i < f->dumps.n; i++) {
		one_dump(&f->dumps.v[i], dumps);
		members(f, &f->dumps.v[i], of);
	}
}
