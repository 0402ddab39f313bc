/* The entries of one dump. All dumps of a job write the same keys in the same order, so that a key
 * is mostly known by its place. */
#include "lib/flight/flight.h"
#include "lib/flight/shape.h"
#include "lib/flight/value.h"

enum field {
	F_NONE,
	F_RECORD,
	F_PG_ID,
	F_PG,
	F_SEQ,
	F_OLD_SEQ,
	F_P2P_SEQ,
	F_IS_P2P,
	F_OP,
	F_CREATED,
	F_DURATION,
	F_IN,
	F_OUT,
	F_IN_TYPES,
	F_OUT_TYPES,
	F_STATE,
	F_STARTED,
	F_ENDED,
	F_TIMEOUT,
	F_FRAMES,
	F_COUNT
};

static const char *const names[F_COUNT] = {
	[F_RECORD] = "record_id",
	[F_PG_ID] = "pg_id",
	[F_PG] = "process_group",
	[F_SEQ] = "collective_seq_id",
	[F_OLD_SEQ] = "seq_id",
	[F_P2P_SEQ] = "p2p_seq_id",
	[F_IS_P2P] = "is_p2p",
	[F_OP] = "profiling_name",
	[F_CREATED] = "time_created_ns",
	[F_DURATION] = "duration_ms",
	[F_IN] = "input_sizes",
	[F_OUT] = "output_sizes",
	[F_IN_TYPES] = "input_dtypes",
	[F_OUT_TYPES] = "output_dtypes",
	[F_STATE] = "state",
	[F_STARTED] = "time_discovered_started_ns",
	[F_ENDED] = "time_discovered_completed_ns",
	[F_TIMEOUT] = "timeout_ms",
	[F_FRAMES] = "frames",
};

enum { KEYS = 48 /* places that are remembered */, KEYS_MAX = 256, ENTRIES_MAX = 1 << 20 };

struct known {
	struct flight *f;
	struct flight_dump *d;
	const char *at[KEYS]; /* the key that was there in the entry before */
	enum field is[KEYS];
	/* the message before: its place (from 1) */
	size_t message;
	bool has_p2p;
	/* the group of the entry before */
	const struct value_seq *pg;
	uint32_t group;
};

static enum field field_of(struct known *k, uint32_t place, const struct value *key)
{
	enum field found = F_NONE;

	if (key->kind != VALUE_TEXT)
		return F_NONE;
	if (place < KEYS && k->at[place] == key->s)
		return k->is[place];
	for (int i = F_NONE + 1; i < F_COUNT && !found; i++)
		if (value_is(key, names[i]))
			found = (enum field)i;
	if (place < KEYS) {
		k->at[place] = key->s;
		k->is[place] = found;
	}
	return found;
}

/* --- one entry --------------------------------------------------------------------- */
static uint32_t small(const struct value *v)
{
	int64_t i;

	return value_int(v, &i) && i > 0 ? i < UINT32_MAX ? (uint32_t)i : UINT32_MAX : 0;
}

/* The group of that name that the dump lists, or one that none lists. */
static uint32_t group_named(struct known *k, const char *name, const char *desc)
{
	size_t n = k->d->groups.n;

	for (size_t i = 0; i < n; i++)
		if (streq(k->f->groups.v[k->d->groups.v[i]].name, name))
			return k->d->groups.v[i];
	if (n >= FLIGHT_GROUPS) /* no job's: what is beyond is one */
		return k->d->groups.v[n - 1];
	*LIST_ADD(&k->f->a, &k->d->groups) = flight_group_of(k->f, name, desc, NULL);
	return k->d->groups.v[k->d->groups.n - 1];
}

static void set_group(struct known *k, struct flight_entry *e, const struct value *v)
{
	AUTO(arena_done) struct arena a = {0};
	const struct value *part;
	size_t n = value_items(v, &part);
	const char *name = n ? value_text(&a, &part[0]) : value_text(&a, v);
	const char *desc = n > 1 ? value_text(&a, &part[1]) : NULL;
	struct flight_group *g;
	int64_t id;

	if (n && v->seq == k->pg) {
		e->group = k->group;
		return;
	}
	if (!name && value_int(v, &id)) /* how the first dumps told groups apart */
		name = arena_printf(&a, "%lld", (long long)id);
	e->group = group_named(k, name ? name : "?", desc);
	g = &k->f->groups.v[e->group];
	if (desc && !*g->desc)
		g->desc = arena_strdup(&k->f->a, desc);
	k->pg = n ? v->seq : NULL;
	k->group = e->group;
}

/* "nccl:send 0->1": what carries it does not matter. */
static void set_op(struct flight *f, struct flight_entry *e, const struct value *v)
{
	const char *colon, *s;
	size_t n;

	if (v->kind != VALUE_TEXT)
		return;
	colon = memchr(v->s, ':', v->n);
	s = colon ? colon + 1 : v->s;
	n = (size_t)(v->s + v->n - s);
	e->op = flight_keep(f, s, n);
	e->is_p2p |= (n > 5 && memcmp(s, "send ", 5) == 0) || (n > 5 && memcmp(s, "recv ", 5) == 0);
	e->is_end = memmem(s, n, "coalesced", 9) != NULL;
}

static void set_state(struct flight_entry *e, const struct value *v)
{
	e->state = value_is(v, "completed") ? FLIGHT_COMPLETED
		   : value_is(v, "started") ? FLIGHT_STARTED
					    : FLIGHT_SCHEDULED;
}

/* Since 1970, so that two are subtracted without a second thought; 0: none. */
static int64_t time_ns(const struct value *v)
{
	int64_t i;

	return value_int(v, &i) && i > 0 ? i : 0;
}

/* Of less than two weeks; -1: not measured. */
static float took_ms(const struct value *v)
{
	double ms = v->kind == VALUE_FLOAT ? v->f : v->kind == VALUE_INT ? (double)v->i : -1;

	return ms >= 0 && ms < 1e9 ? (float)ms : -1;
}

static void seen_at(struct flight_dump *d, int64_t at_ns)
{
	d->last_ns = at_ns > d->last_ns ? at_ns : d->last_ns;
}

struct late {
	const struct value *pg, *pg_id, *seq, *p2p_seq;
};

static void set(struct known *k, struct flight_entry *e, enum field f, const struct value *v,
		struct late *late)
{
	int64_t i = 0;

	switch (f) {
	case F_RECORD:
		e->record = value_int(v, &i) && i > 0 ? (uint64_t)i : 0;
		break;
	case F_PG_ID:
		late->pg_id = v;
		break;
	case F_PG:
		late->pg = v;
		break;
	case F_SEQ:
	case F_OLD_SEQ:
		late->seq = v;
		break;
	case F_P2P_SEQ:
		late->p2p_seq = v;
		break;
	case F_IS_P2P:
		e->is_p2p |= value_int(v, &i) && i;
		break;
	case F_OP:
		set_op(k->f, e, v);
		break;
	case F_CREATED:
		e->created_ns = time_ns(v);
		seen_at(k->d, e->created_ns);
		break;
	case F_DURATION:
		e->duration_ms = took_ms(v);
		break;
	case F_IN:
		e->in = shape_sizes(k->f, v);
		break;
	case F_OUT:
		e->out = shape_sizes(k->f, v);
		break;
	case F_IN_TYPES:
		e->in_types = shape_types(k->f, v);
		break;
	case F_OUT_TYPES:
		e->out_types = shape_types(k->f, v);
		break;
	case F_STATE:
		set_state(e, v);
		break;
	case F_STARTED:
		k->d->tells_start |= time_ns(v) > 0;
		seen_at(k->d, time_ns(v));
		break;
	case F_ENDED:
		seen_at(k->d, time_ns(v));
		break;
	case F_TIMEOUT:
		e->timeout_s = small(v) / 1000;
		break;
	case F_FRAMES:
		e->frame = shape_frame(k->f, v);
		break;
	case F_NONE:
	case F_COUNT:
		break;
	}
}

/* PyTorch calls the end of a batch of messages no message: it has both numbers of the one before.
 */
static bool ends_messages(const struct known *k, const struct flight_entry *e,
			  const struct late *late)
{
	const struct flight_entry *m = k->message ? &k->d->entries.v[k->message - 1] : NULL;

	return m && e->is_end && !m->is_end && m->group == e->group &&
	       m->seq == small(late->p2p_seq ? late->p2p_seq : late->seq) &&
	       m->written == e->written;
}

static void one(struct known *k, struct flight_entry *e, const struct value *dict)
{
	struct late late = {0};

	e->duration_ms = -1;
	for (uint32_t i = 0; i + 1 < dict->seq->n && i / 2 < KEYS_MAX; i += 2)
		set(k, e, field_of(k, i / 2, &dict->seq->v[i]), &dict->seq->v[i + 1], &late);
	if (late.pg || late.pg_id)
		set_group(k, e, late.pg ? late.pg : late.pg_id);
	else
		set_group(k, e, &(struct value){.kind = VALUE_INT, .i = 0});
	e->pg_id = small(late.pg_id);
	e->written = small(late.seq);
	e->is_p2p |= ends_messages(k, e, &late);
	e->seq = e->is_p2p && late.p2p_seq ? small(late.p2p_seq) : e->written;
	if (e->is_p2p)
		k->message = (size_t)(e - k->d->entries.v) + 1;
	k->has_p2p |= late.p2p_seq != NULL;
	k->d->tells_start |= e->state == FLIGHT_STARTED;
}

/* What was put together has one state, that of its end: its parts are never seen to begin. */
static void join_parts(struct flight_dump *d)
{
	enum { PARTS = 4096 };

	for (size_t i = d->entries.n; i-- > 0;) {
		const struct flight_entry *end = &d->entries.v[i];

		for (size_t k = i; end->is_end && k-- > 0 && i - k < PARTS;) {
			struct flight_entry *p = &d->entries.v[k];

			if (p->group != end->group)
				continue;
			if (p->is_end || p->is_p2p != end->is_p2p || p->seq != end->seq ||
			    p->written != end->written)
				break;
			p->is_part = true;
			p->state = end->state;
		}
	}
}

void flight_entries(struct flight *f, struct flight_dump *d, const struct value *list)
{
	struct known k = {.f = f, .d = d};
	const struct value *v;
	size_t n = value_items(list, &v);

	n = n < ENTRIES_MAX ? n : ENTRIES_MAX;
	d->entries.v = calloc(n ? n : 1, sizeof(*d->entries.v));
	d->entries.cap = d->entries.v ? n : 0;
	for (size_t i = 0; i < d->entries.cap; i++)
		if (v[i].kind == VALUE_DICT)
			one(&k, &d->entries.v[d->entries.n++], &v[i]);
	join_parts(d);
	flight_count(f, d, k.has_p2p);
}
