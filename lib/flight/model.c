/* What a dump holds besides its entries: its groups, what the watchdog counted, whose it is. */
#include "lib/flight/flight.h"

#include "lib/core/text.h"
#include "lib/flight/value.h"

/* "[0, 1]", or a list of numbers, as the same text. */
static const char *ranks_text(struct arena *a, const struct value *v)
{
	const struct value *item;
	size_t n = value_items(v, &item);
	struct text t;
	int64_t rank;

	if (!n)
		return value_text(a, v);
	text_init(&t, a);
	for (size_t i = 0; i < n; i++)
		if (value_int(&item[i], &rank))
			text_addf(&t, "%s%lld", t.n ? ", " : "[", (long long)rank);
	text_add(&t, t.n ? "]" : "");
	return t.s;
}

static void take_groups(struct flight *f, struct flight_dump *d, const struct value *config)
{
	for (uint32_t i = 0; config && config->kind == VALUE_DICT && i + 1 < config->seq->n &&
			     i / 2 < FLIGHT_GROUPS;
	     i += 2) {
		AUTO(arena_done) struct arena a = {0};
		const struct value *key = &config->seq->v[i], *g = key + 1;
		const struct value *ranks = g->kind == VALUE_DICT ? value_get(g, "ranks") : g;
		const char *name = value_text(&a, key);
		int64_t id;

		if (!name && value_int(key, &id))
			name = arena_printf(&a, "%lld", (long long)id);
		if (name)
			*LIST_ADD(&f->a, &d->groups) =
				flight_group_of(f, name, value_text(&a, value_get(g, "desc")),
						ranks_text(&a, ranks));
	}
}

/* Which group the watchdog's number stands for, is said by an entry that has both. */
static bool group_of_id(const struct flight_dump *d, int64_t id, uint32_t *ret)
{
	for (size_t i = d->entries.n; i-- > 0;)
		if (d->entries.v[i].pg_id == id)
			return *ret = d->entries.v[i].group, true;
	return false;
}

static int64_t counted(const struct value *v, const char *key)
{
	int64_t n;

	return value_int(value_get(v, key), &n) ? n : -1;
}

static bool is_shifted(const struct flight_dump *d, uint32_t group)
{
	for (size_t i = 0; i < d->shifts.n; i++)
		if (d->shifts.v[i].group == group)
			return true;
	return false;
}

static void take_status(struct flight *f, struct flight_dump *d, const struct value *status)
{
	enum { MOST = 256 /* groups of one rank */ };

	for (uint32_t i = 0;
	     status && status->kind == VALUE_DICT && i + 1 < status->seq->n && i / 2 < MOST;
	     i += 2) {
		const struct value *v = &status->seq->v[i + 1];
		struct flight_status s = {0};
		int64_t id;

		if (!value_int(&status->seq->v[i], &id) || !group_of_id(d, id, &s.group))
			continue;
		s.enqueued = counted(v, "last_enqueued_collective");
		s.started = counted(v, "last_started_collective");
		s.completed = counted(v, "last_completed_collective");
		if (is_shifted(d, s.group)) {
			s.enqueued = flight_counted(d, s.group, s.enqueued);
			s.started = flight_counted(d, s.group, s.started);
			s.completed = flight_counted(d, s.group, s.completed);
		}
		*LIST_ADD(&f->a, &d->status) = s;
	}
}

/* --- whose it is ----------------------------------------------------------------------- */
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Behind the last "rank" that has a number. */
static const char *behind_rank(const char *base)
{
	const char *found = NULL;

	for (const char *p = base; (p = strcasestr(p, "rank"));) {
		p += strlen("rank");
		if (is_digit(p[*p && strchr("_-.", *p) ? 1 : 0]))
			found = p + !is_digit(*p);
	}
	return found;
}

/* What the name ends in, but for ".json", ".pickle". */
static const char *last_number(const char *base)
{
	const char *end = base + strlen(base), *p;

	for (p = end; p > base && p[-1] != '.'; p--)
		;
	if (p > base && !is_digit(*p))
		end = p - 1;
	for (p = end; p > base && is_digit(p[-1]); p--)
		;
	return p < end ? p : NULL;
}

int flight_rank_of(const char *path)
{
	const char *base = strrchr(path, '/'), *p;
	long rank;

	base = base ? base + 1 : path;
	p = behind_rank(base);
	p = p ? p : last_number(base);
	rank = p ? strtol(p, NULL, 10) : -1;
	return rank >= 0 && rank < 1 << 24 ? (int)rank : -1;
}

/* "send 0->1", "recv 1<-0": the first is this rank, counted in the group. */
static int rank_by_messages(const struct flight *f, const struct flight_dump *d)
{
	for (size_t i = 0; i < d->entries.n; i++) {
		const struct flight_entry *e = &d->entries.v[i];
		const struct flight_group *g = &f->groups.v[e->group];
		const char *op = flight_said(f, e->op);
		long me = starts_with(op, "send ") || starts_with(op, "recv ")
				  ? strtol(op + 5, NULL, 10)
				  : -1;

		if (me >= 0 && (size_t)me < g->n)
			return g->ranks[me];
	}
	return -1;
}

/* The one that is in all its groups. */
static int rank_by_groups(const struct flight *f, const struct flight_dump *d)
{
	const struct flight_group *first = d->groups.n ? &f->groups.v[d->groups.v[0]] : NULL;
	int found = -1;

	for (size_t i = 0; first && i < first->n; i++) {
		bool all = true;

		for (size_t k = 1; k < d->groups.n && all; k++)
			all = flight_group_has(&f->groups.v[d->groups.v[k]], first->ranks[i]);
		if (all && found >= 0)
			return -1;
		found = all ? first->ranks[i] : found;
	}
	return found;
}

/* A name may hold another number: a rank is in all groups of its dump. */
static bool is_in_groups(const struct flight *f, const struct flight_dump *d)
{
	for (size_t i = 0; i < d->groups.n; i++) {
		const struct flight_group *g = &f->groups.v[d->groups.v[i]];

		if (g->is_told && !flight_group_has(g, d->rank))
			return false;
	}
	return true;
}

static void find_rank(struct flight *f, struct flight_dump *d)
{
	d->rank = flight_rank_of(d->path);
	if (d->rank < 0 || !is_in_groups(f, d))
		d->rank = -1;
	if (d->rank < 0)
		d->rank = rank_by_messages(f, d);
	if (d->rank < 0)
		d->rank = rank_by_groups(f, d);
}

/* An empty one, too, is one where the groups are told. */
static bool is_list_of_entries(const struct value *v)
{
	const struct value *item;

	return value_items(v, &item) && value_get(&item[0], "profiling_name");
}

int flight_model(struct flight *f, struct flight_dump *d, const struct value *v, struct err *e)
{
	const struct value *entries = v->kind == VALUE_LIST ? v : value_get(v, "entries");
	const struct value *config = value_get(v, "pg_config");
	const char *version = value_text(&f->a, value_get(v, "version"));

	if (!is_list_of_entries(entries) && (!config || config->kind != VALUE_DICT))
		return err_set(e, ERR_SYS, "it is no dump of PyTorch's Flight Recorder");
	d->version = version ? version : "";
	take_groups(f, d, config);
	flight_entries(f, d, entries);
	take_status(f, d, value_get(v, "pg_status"));
	find_rank(f, d);
	return 0;
}
