#include "probes/flight/court.h"

static int by_place(const void *pa, const void *pb, void *arg)
{
	const struct flight_dump *d = arg;
	uint32_t i = *(const uint32_t *)pa, k = *(const uint32_t *)pb;
	const struct flight_entry *a = &d->entries.v[i], *b = &d->entries.v[k];

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	return i < k ? -1 : i > k;
}

static int64_t enqueued(const struct flight_dump *d, uint32_t group)
{
	for (size_t i = 0; i < d->status.n; i++)
		if (d->status.v[i].group == group)
			return d->status.v[i].enqueued;
	return -1;
}

/* What is behind one that completed has completed: a group's collectives run one after another. */
static uint32_t first_unfinished(const struct view *v, uint32_t lo, uint32_t hi)
{
	uint32_t found = NOWHERE;

	for (uint32_t i = hi; i-- > lo;) {
		if (view_entry(v, v->order[i])->state == FLIGHT_COMPLETED)
			break;
		found = v->order[i];
	}
	return found;
}

/* Only in a damaged dump is a rank in none of the lists of its group: then nobody waits for it. */
static void make_tracks(struct court *c, struct view *v)
{
	for (uint32_t lo = 0, hi; lo < v->norder; lo = hi) {
		uint32_t group = view_entry(v, v->order[lo])->group;
		struct track *t = LIST_ADD(c->a, &v->tracks);

		for (hi = lo; hi < v->norder && view_entry(v, v->order[hi])->group == group; hi++)
			;
		*t = (struct track){.group = group, .lo = lo, .hi = hi};
		t->first = view_entry(v, v->order[lo])->seq;
		t->last = view_entry(v, v->order[hi - 1])->seq;
		t->waits = flight_group_has(&c->f->groups.v[group], v->d->rank)
				   ? first_unfinished(v, lo, hi)
				   : NOWHERE;
		t->enqueued = enqueued(v->d, group);
		if (t->waits < v->stuck)
			v->stuck = t->waits;
	}
}

static void make_view(struct court *c, struct view *v, const struct flight_dump *d)
{
	*v = (struct view){.d = d, .stuck = messages_stuck(c->a, d)};
	v->order = arena_alloc(c->a, (d->entries.n + 1) * sizeof(*v->order));
	for (uint32_t i = 0; i < d->entries.n; i++)
		if (!d->entries.v[i].is_p2p && !d->entries.v[i].is_part)
			v->order[v->norder++] = i;
	qsort_r(v->order, v->norder, sizeof(*v->order), by_place, (void *)(uintptr_t)d);
	v->has_lost = d->entries.n && d->entries.v[0].record > 0;
	make_tracks(c, v);
}

static int by_rank(const void *pa, const void *pb)
{
	const struct view *a = pa, *b = pb;

	return a->d->rank < b->d->rank ? -1 : a->d->rank > b->d->rank;
}

struct view *court_view(const struct court *c, int rank)
{
	size_t lo = 0, hi = c->nviews;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (c->views[mid].d->rank < rank)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < c->nviews && c->views[lo].d->rank == rank ? &c->views[lo] : NULL;
}

const struct track *view_track(const struct view *v, uint32_t group)
{
	for (size_t i = 0; i < v->tracks.n; i++)
		if (v->tracks.v[i].group == group)
			return &v->tracks.v[i];
	return NULL;
}

/* By its number; of several, as a damaged dump may have, the last. */
static const struct flight_entry *find(const struct view *v, const struct track *t, uint32_t seq)
{
	uint32_t lo = t->lo, hi = t->hi;
	const struct flight_entry *e;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (view_entry(v, v->order[mid])->seq <= seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	e = lo > t->lo ? view_entry(v, v->order[lo - 1]) : NULL;
	return e && e->seq == seq ? e : NULL;
}

/* PyTorch's watchdog then counts messages and collectives as one or the other. */
static bool has_messages(const struct view *v, uint32_t group)
{
	for (size_t i = 0; i < v->d->entries.n; i++)
		if (v->d->entries.v[i].is_p2p && v->d->entries.v[i].group == group)
			return true;
	return false;
}

enum presence view_presence(const struct view *v, uint32_t group, uint32_t seq,
			    const struct flight_entry **ret)
{
	const struct track *t = v ? view_track(v, group) : NULL;
	int64_t counted = v ? enqueued(v->d, group) : -1;

	*ret = NULL;
	if (!v)
		return NO_DUMP;
	if (t && t->is_adrift)
		return LOST;
	if (t)
		*ret = find(v, t, seq);
	if (*ret)
		return HERE;
	if (t)
		return t->last < seq ? ABSENT : LOST;
	if (v->has_lost && (counted < 0 || counted >= seq || has_messages(v, group)))
		return LOST;
	return ABSENT;
}

/* --- groups ---------------------------------------------------------------------------- */
/* Of a group that no dump lists: those that are in it. */
static void fill_group(struct court *c, uint32_t group)
{
	struct flight_group *g = &c->f->groups.v[group];
	LIST(int) ranks = {0};

	for (size_t i = 0; i < c->nviews; i++)
		for (size_t k = 0; k < c->views[i].d->groups.n; k++)
			if (c->views[i].d->groups.v[k] == group) {
				*LIST_ADD(&c->f->a, &ranks) = c->views[i].d->rank;
				break;
			}
	g->ranks = ranks.v;
	g->n = ranks.n;
}

/* A number that all ranks have in common says more than one that a rank has alone. */
static bool is_before(const struct track *t, const struct flight_entry *e, const struct front *f)
{
	if (f->seq == NOWHERE || t->is_adrift != f->is_adrift)
		return f->seq == NOWHERE || !t->is_adrift;
	if (!t->is_adrift && e->seq != f->seq)
		return e->seq < f->seq;
	return e->created_ns < f->created_ns;
}

static void make_fronts(struct court *c)
{
	size_t n = c->f->groups.n;

	c->fronts = arena_alloc(c->a, (n + 1) * sizeof(*c->fronts));
	for (uint32_t g = 0; g < n; g++)
		c->fronts[g] = (struct front){.group = g, .seq = NOWHERE};
	for (size_t i = 0; i < c->nviews; i++)
		for (size_t k = 0; k < c->views[i].tracks.n; k++) {
			const struct track *t = &c->views[i].tracks.v[k];
			struct front *f = &c->fronts[t->group];
			const struct flight_entry *e =
				t->waits == NOWHERE ? NULL : view_entry(&c->views[i], t->waits);

			if (e && is_before(t, e, f))
				*f = (struct front){t->group, e->seq, e->created_ns, t->is_adrift};
		}
}

/* --- one run only ------------------------------------------------------------------------ */
struct newest {
	const struct flight_dump *d;
	int64_t patience_ns; /* of any of its run */
};

static void find_newest(const struct flight *f, struct newest *ret)
{
	uint32_t longest_s = 0;

	*ret = (struct newest){0};
	for (size_t i = 0; i < f->dumps.n; i++) {
		const struct flight_dump *d = &f->dumps.v[i];
		uint32_t timeout_s = flight_timeout_s(d);

		if (!ret->d || d->last_ns > ret->d->last_ns)
			ret->d = d;
		longest_s = timeout_s > longest_s ? timeout_s : longest_s;
	}
	ret->patience_ns = flight_patience_ns(longest_s);
}

static bool is_of_another_run(const struct flight *f, const struct flight_dump *d,
			      const struct newest *n)
{
	if (flight_worlds_differ(f, d, n->d))
		return true;
	return d->last_ns && n->d->last_ns - d->last_ns > n->patience_ns;
}

static void leave_out(struct court *c, struct flight_verdict *v, const rank_list *others,
		      const rank_list *twice)
{
	struct flight_cause *t;

	if (!others->n && !twice->n)
		return;
	t = tell_new(c, v, "FR-011", 49, others->n ? others->v : twice->v,
		     others->n ? others->n : twice->n);
	if (others->n)
		t->meaning =
			arena_printf(c->a,
				     "dumps of different runs are mixed: that of %s is of another "
				     "run than the newest, and was left out",
				     say_ranks(c->a, others->v, others->n));
	else
		t->meaning = arena_printf(c->a, "there are two dumps of %s: the newer was taken",
					  say_ranks(c->a, twice->v, twice->n));
	tell_line(c, &t->causes, "files of an earlier run were left where this one wrote its own");
	tell_line(c, &t->confirm, "ls -l --time-sort %s*   # all of one minute?",
		  "/tmp/nccl_trace_rank_");
	tell_line(c, &t->fix,
		  "rm -f /tmp/nccl_trace_rank_*   # on every host, before the next run; or "
		  "TORCH_FR_DUMP_TEMP_FILE=DIR/rank_ with a folder for each run");
}

/* All that is of the newest run; of two dumps of one rank the newer. */
static void choose(struct court *c, struct flight_verdict *v)
{
	rank_list others = {0}, twice = {0}, cut = {0};
	struct newest newest;
	size_t k = 0;

	find_newest(c->f, &newest);
	c->views = arena_alloc(c->a, (c->f->dumps.n + 1) * sizeof(*c->views));
	for (size_t i = 0; i < c->f->dumps.n; i++) {
		const struct flight_dump *d = &c->f->dumps.v[i];

		if (d->is_cut)
			*LIST_ADD(c->a, &cut) = d->rank;
		else if (is_of_another_run(c->f, d, &newest))
			*LIST_ADD(c->a, &others) = d->rank;
		else
			c->views[c->nviews++].d = d;
	}
	if (c->nviews)
		qsort(c->views, c->nviews, sizeof(*c->views), by_rank);
	for (size_t i = 0; i < c->nviews; i++)
		if (k && c->views[k - 1].d->rank == c->views[i].d->rank) {
			*LIST_ADD(c->a, &twice) = c->views[i].d->rank;
			if (c->views[i].d->last_ns > c->views[k - 1].d->last_ns)
				c->views[k - 1] = c->views[i];
		} else {
			c->views[k++] = c->views[i];
		}
	c->nviews = k;
	c->cut = cut.v;
	c->ncut = cut.n;
	leave_out(c, v, &others, &twice);
}

static bool is_whole(const struct view *v, const struct track *t)
{
	for (size_t i = 0; i < v->d->shifts.n; i++)
		if (v->d->shifts.v[i].group == t->group)
			return v->d->shifts.v[i].is_known;
	return !v->has_lost || t->first <= 1;
}

/* Where messages are counted among the collectives by one rank, all of its job do so: of one whose
 * first entries are gone nobody knows how many of them were messages. */
static void find_adrift(struct court *c)
{
	AUTO(arena_done) struct arena a = {0};
	bool *shifted = arena_alloc(&a, c->f->groups.n + 1);

	for (size_t i = 0; i < c->nviews; i++)
		for (size_t k = 0; k < c->views[i].d->shifts.n; k++)
			shifted[c->views[i].d->shifts.v[k].group] = true;
	for (size_t i = 0; i < c->nviews; i++)
		for (size_t k = 0; k < c->views[i].tracks.n; k++) {
			struct track *t = &c->views[i].tracks.v[k];

			t->is_adrift = shifted[t->group] && !is_whole(&c->views[i], t);
		}
}

void court_open(struct court *c, struct flight_verdict *v)
{
	choose(c, v);
	for (uint32_t g = 0; g < c->f->groups.n; g++)
		if (!c->f->groups.v[g].is_told)
			fill_group(c, g);
	for (size_t i = 0; i < c->nviews; i++) {
		make_view(c, &c->views[i], c->views[i].d);
		if (c->views[i].d->last_ns > c->last_ns)
			c->last_ns = c->views[i].d->last_ns;
	}
	find_adrift(c);
	make_fronts(c);
}
