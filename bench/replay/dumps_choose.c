/* Which of the dumps are of one job: files of an earlier one lie where this one wrote its own. */
#include "bench/replay/dumps.h"
#include "lib/core/quote.h"
#include "lib/core/text.h"
#include "lib/core/units.h"

enum { NAMED = 3, STEMS = 8 }; /* files, and folders, that are listed */
/* Clocks of hosts differ by less. */
static const int64_t APART_NS = 10 * (int64_t)NS_PER_S;

struct job {
	const struct flight_dump *newest;
	size_t files, ranks; /* ranks: that have a file */
	int size;	     /* ranks that it had */
};

struct choice {
	struct reading *r;
	const struct flight_dump **v; /* all that are not cut, the newest first */
	size_t n, *job_of;
	LIST(struct job) jobs;
};

static int64_t ended(const struct flight_dump *d) { return d->last_ns ?: d->written_ns; }

static int64_t began(const struct flight_dump *d)
{
	int64_t first = ended(d);

	for (size_t i = 0; i < d->entries.n; i++)
		if (d->entries.v[i].created_ns < first)
			first = d->entries.v[i].created_ns;
	return first;
}

static int by_end(const void *a, const void *b)
{
	const struct flight_dump *x = *(const struct flight_dump *const *)a,
				 *y = *(const struct flight_dump *const *)b;
	int64_t at_x = ended(x), at_y = ended(y);

	if (at_x == at_y)
		return x->rank - y->rank;
	return at_x < at_y ? 1 : -1;
}

/* By rank, and of one rank the latest first. */
static int by_rank(const void *a, const void *b)
{
	const struct flight_dump *x = *(const struct flight_dump *const *)a,
				 *y = *(const struct flight_dump *const *)b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->last_ns != y->last_ns)
		return x->last_ns < y->last_ns ? 1 : -1;
	return (x->written_ns < y->written_ns) - (x->written_ns > y->written_ns);
}

/* --- one job ---------------------------------------------------------------------------------- */

/* In one job the numbers of a group's collectives rise with time. Does @y, which ended before @x
 * began, tell of one that is as high as any of @x? */
static bool begins_again(const struct flight *f, const struct flight_dump *x,
			 const struct flight_dump *y)
{
	AUTO(arena_done) struct arena a = {0};
	uint32_t *least = arena_alloc(&a, (f->groups.n + 1) * sizeof(*least));
	bool *is_there = arena_alloc(&a, f->groups.n + 1);

	for (size_t i = 0; i < x->entries.n; i++) {
		const struct flight_entry *e = &x->entries.v[i];

		if (e->is_p2p)
			continue;
		if (!is_there[e->group] || e->seq < least[e->group])
			least[e->group] = e->seq;
		is_there[e->group] = true;
	}
	for (size_t i = 0; i < y->entries.n; i++) {
		const struct flight_entry *e = &y->entries.v[i];

		if (!e->is_p2p && is_there[e->group] && e->seq >= least[e->group])
			return true;
	}
	return false;
}

/* @x is of the newer of the two. */
static bool are_of_one_job(const struct flight *f, const struct flight_dump *x,
			   const struct flight_dump *y)
{
	int64_t gap = began(x) - ended(y);

	if (flight_worlds_differ(f, x, y) || !streq(x->version, y->version))
		return false;
	if (!x->last_ns || !y->last_ns || gap <= APART_NS)
		return true;
	return gap <= flight_patience_ns(flight_timeout_s(x)) && !begins_again(f, x, y);
}

/* --- which ------------------------------------------------------------------------------------ */

static void join_job(struct choice *c, size_t i)
{
	const struct flight *f = c->r->f;
	const struct flight_dump *d = c->v[i];
	struct job *j;
	size_t at = 0;

	while (at < c->jobs.n && !are_of_one_job(f, c->jobs.v[at].newest, d))
		at++;
	if (at == c->jobs.n)
		*LIST_ADD(c->r->a, &c->jobs) = (struct job){.newest = d};
	j = &c->jobs.v[at];
	j->files++;
	c->job_of[i] = at;
	j->size = d->rank >= j->size ? d->rank + 1 : j->size;
	for (size_t k = 0; k < d->groups.n; k++) {
		const struct flight_group *g = &f->groups.v[d->groups.v[k]];

		for (size_t m = 0; g->is_told && m < g->n; m++)
			j->size = g->ranks[m] >= j->size ? g->ranks[m] + 1 : j->size;
	}
}

/* The dumps of job @at, one of each rank. */
static size_t dumps_of(const struct choice *c, size_t at, const struct flight_dump **ret)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < c->n; i++)
		if (c->job_of[i] == at)
			ret[n++] = c->v[i];
	qsort(ret, n, sizeof(*ret), by_rank);
	for (size_t i = 0; i < n; i++)
		if (!kept || ret[kept - 1]->rank != ret[i]->rank)
			ret[kept++] = ret[i];
	return kept;
}

/* The newest that is whole, and no smaller than what there is of the newest; else that. */
static size_t find_job(struct choice *c)
{
	const struct flight_dump **v = arena_alloc(c->r->a, (c->n + 1) * sizeof(*v));
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < c->n; i++)
		join_job(c, i);
	for (size_t i = 0; i < c->jobs.n; i++) {
		c->jobs.v[i].ranks = dumps_of(c, i, v);
		if (found == SIZE_MAX && c->jobs.v[i].ranks == (size_t)c->jobs.v[i].size &&
		    c->jobs.v[i].ranks >= c->jobs.v[0].ranks)
			found = i;
	}
	return found == SIZE_MAX ? 0 : found;
}

/* --- what is said ----------------------------------------------------------------------------- */

static void add_name(struct text *t, size_t at, const struct flight_dump *d)
{
	if (at < NAMED)
		text_addf(t, "%s%s", at ? ", " : "", d->path);
}

/* "2 files of another job, which ended 1.5 h earlier and had 8 ranks, were left out: a, b" */
static void say_job(const struct choice *c, size_t at, size_t chosen)
{
	struct reading *r = c->r;
	const struct job *j = &c->jobs.v[at], *own = &c->jobs.v[chosen];
	int64_t ns = ended(own->newest) - ended(j->newest);
	struct unit_buf apart;
	struct text t;
	size_t n = 0;

	text_init(&t, r->t->a);
	text_addf(&t, "%zu file%s of another job, which ended %s %s", j->files,
		  j->files == 1 ? "" : "s", format_duration(&apart, (uint64_t)(ns < 0 ? -ns : ns)),
		  ns < 0 ? "later" : "earlier");
	if (j->size != own->size)
		text_addf(&t, " and had %d ranks", j->size);
	if (!streq(j->newest->version, own->newest->version))
		text_addf(&t, " and was of another PyTorch (dumps of version %s)",
			  *j->newest->version ? j->newest->version : "-");
	if (at < chosen)
		text_addf(&t, " and has no dump of %zu of its ranks", (size_t)j->size - j->ranks);
	text_addf(&t, ", %s left out: ", j->files == 1 ? "was" : "were");
	for (size_t i = 0; i < c->n; i++)
		if (c->job_of[i] == at)
			add_name(&t, n++, c->v[i]);
	text_more(&t, "", n, NAMED);
	*LIST_ADD(r->t->a, &r->t->notes) = t.s;
	r->t->is_mixed = true;
}

static bool is_taken(const struct reading *r, const struct flight_dump *d)
{
	for (size_t i = 0; i < r->ndumps; i++)
		if (r->dumps[i] == d)
			return true;
	return false;
}

/* Of the same job, and of no use. */
static void say_rest(const struct choice *c, size_t chosen)
{
	struct reading *r = c->r;
	struct text cut, twice;
	size_t ncut = 0, ntwice = 0;

	text_init(&cut, r->t->a);
	text_init(&twice, r->t->a);
	for (size_t i = 0; i < r->f->dumps.n; i++)
		if (r->f->dumps.v[i].is_cut)
			add_name(&cut, ncut++, &r->f->dumps.v[i]);
	for (size_t i = 0; i < c->n; i++)
		if (c->jobs.v[chosen].files > r->ndumps && c->job_of[i] == chosen &&
		    !is_taken(r, c->v[i]))
			add_name(&twice, ntwice++, c->v[i]);
	text_more(&cut, "", ncut, NAMED);
	text_more(&twice, "", ntwice, NAMED);
	if (ncut)
		*LIST_ADD(r->t->a, &r->t->notes) =
			arena_printf(r->t->a, "cut short and left out: %s", cut.s);
	if (ntwice)
		*LIST_ADD(r->t->a, &r->t->notes) = arena_printf(
			r->t->a, "older than another of the same rank and left out: %s", twice.s);
}

/* --- where they lie --------------------------------------------------------------------------- */

/* All but the rank: "runs/nccl_trace_rank_", of "nccl_trace_rank_3" or "..._3.json". */
static const char *stem_of(const char *path, struct arena *a)
{
	static const char json[] = ".json";
	size_t n, ends = sizeof(json) - 1, digits;

	path = *path == '-' ? arena_printf(a, "./%s", path) : path; /* no option */
	n = strlen(path);
	n -= n > ends && streq(path + n - ends, json) ? ends : 0;
	for (digits = n; digits && strchr("0123456789", path[digits - 1]); digits--)
		;
	return digits < n ? arena_printf(a, "%s*", shell_quote(a, arena_strndup(a, path, digits)))
			  : shell_quote(a, path);
}

static bool has_word(const str_list *l, const char *word)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i], word))
			return true;
	return false;
}

/* What reads the same files, and says who came late. */
static const char *judge_of(const struct reading *r)
{
	str_list stems = {0};
	struct text t;

	text_init(&t, r->t->a);
	text_add(&t, "ncclwhy");
	for (size_t i = 0; i < r->ndumps; i++) {
		const char *stem = stem_of(r->dumps[i]->path, r->a);

		if (has_word(&stems, stem))
			continue;
		if (stems.n == STEMS)
			return NULL;
		*LIST_ADD(r->a, &stems) = stem;
		text_addf(&t, " %s", stem);
	}
	return t.s;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Groups of other jobs have other ranks. */
static void know_groups(struct reading *r)
{
	r->is_known = arena_alloc(r->a, r->f->groups.n + 1);
	for (size_t i = 0; i < r->ndumps; i++) {
		const struct flight_dump *d = r->dumps[i];

		for (size_t k = 0; k < d->groups.n; k++)
			r->is_known[d->groups.v[k]] = true;
		for (size_t k = 0; k < d->entries.n; k++)
			r->is_known[d->entries.v[k].group] = true;
	}
}

void dumps_choose(struct reading *r)
{
	size_t all = r->f->dumps.n + 1, chosen;
	struct choice c = {.r = r};

	c.v = arena_alloc(r->a, all * sizeof(*c.v));
	c.job_of = arena_alloc(r->a, all * sizeof(*c.job_of));
	r->dumps = arena_alloc(r->a, all * sizeof(*r->dumps));
	for (size_t i = 0; i < r->f->dumps.n; i++)
		if (!r->f->dumps.v[i].is_cut)
			c.v[c.n++] = &r->f->dumps.v[i];
	qsort(c.v, c.n, sizeof(*c.v), by_end);
	chosen = find_job(&c);
	r->ndumps = dumps_of(&c, chosen, r->dumps);
	r->t->files = r->ndumps;
	for (size_t i = 0; i < c.jobs.n; i++)
		if (i != chosen)
			say_job(&c, i, chosen);
	say_rest(&c, chosen);
	know_groups(r);
	r->t->judge = judge_of(r);
}
