/* What several hosts say alike becomes one line for people. */
#include "lib/core/text.h"
#include "probes/tally/names.h"
#include "probes/tally/tally.h"

enum { ALIKE = 3 };

static bool same_text(const char *x, const char *y) { return x == y || (x && y && streq(x, y)); }

bool tally_same_fix(const str_list *x, const str_list *y)
{
	if (x->n != y->n)
		return false;
	for (size_t i = 0; i < x->n; i++)
		if (!streq(x->v[i], y->v[i]))
			return false;
	return true;
}

/* The subject may be the host itself: then it says nothing that the host's name does not. */
static bool same_subject(const struct finding *x, const struct finding *y)
{
	return same_text(x->subject, y->subject) ||
	       (x->subject && y->subject && same_text(x->subject, x->host) &&
		same_text(y->subject, y->host));
}

static bool is_alike(const struct item *x, const struct item *y)
{
	return x->stage == y->stage && !x->hosts.n == !y->hosts.n && x->f->rank == y->f->rank &&
	       x->f->status == y->f->status && streq(x->f->check, y->f->check) &&
	       same_subject(x->f, y->f) && streq(x->f->message, y->f->message) &&
	       tally_same_fix(&x->f->fix, &y->f->fix);
}

/* What is_alike() compares, but for a subject, which may be the host. */
static uint32_t hash_of(const struct item *x)
{
	return text_hash(text_hash(0, x->f->check), x->f->message) + x->stage * 31u +
	       (uint32_t)x->f->status;
}

/* 512 hosts that look at each other make a quarter of a million items. */
struct groups {
	size_t *slots, mask; /* 0: free; else one more than its place in @all */
	item_list all;
};

static void groups_init(struct groups *g, struct arena *a, size_t n)
{
	size_t size = 16;

	while (size < 2 * n)
		size *= 2;
	*g = (struct groups){.mask = size - 1};
	g->slots = arena_alloc(a, size * sizeof(*g->slots));
}

static struct item *group_of(struct groups *g, struct arena *a, const struct item *x)
{
	size_t at = hash_of(x) & g->mask;

	for (; g->slots[at]; at = (at + 1) & g->mask)
		if (is_alike(&g->all.v[g->slots[at] - 1], x))
			return &g->all.v[g->slots[at] - 1];
	*LIST_ADD(a, &g->all) = *x;
	g->slots[at] = g->all.n;
	g->all.v[g->all.n - 1].hosts = (host_list){0}; /* its own list: it may grow */
	return &g->all.v[g->all.n - 1];
}

static void name_hosts(struct arena *a, struct item *x)
{
	struct finding *copy = ARENA_NEW(a, struct finding);

	*copy = *x->f;
	copy->host = names_fold(a, &x->hosts);
	if (same_text(x->f->subject, x->f->host))
		copy->subject = copy->host;
	x->f = copy;
}

item_list tally_folded(const struct tally *t, size_t from, bool wrong)
{
	struct groups g;

	groups_init(&g, t->a, t->items.n - from);
	for (size_t i = from; i < t->items.n; i++) {
		const struct item *x = &t->items.v[i];
		enum status st = x->f->status;
		struct item *to;

		if (wrong && st != ST_FAIL && st != ST_ERROR && st != ST_WARN)
			continue;
		to = group_of(&g, t->a, x);
		for (size_t h = 0; h < x->hosts.n; h++)
			*LIST_ADD(t->a, &to->hosts) = x->hosts.v[h];
	}
	for (size_t i = 0; i < g.all.n; i++)
		if (g.all.v[i].hosts.n > 1)
			name_hosts(t->a, &g.all.v[i]);
	return g.all;
}

/* How many passed alike here, without a host's name: "answers" once for each peer. */
static size_t passed_here(const item_list *all, const char *check)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += !all->v[i].hosts.n && all->v[i].f->status == ST_PASS &&
		     streq(all->v[i].f->check, check);
	return n;
}

/* Takes them all into one line; the first of them becomes it. */
static void gather_here(const struct tally *t, item_list *all, size_t first)
{
	const struct finding *f = all->v[first].f;
	host_list subjects = {0};
	struct finding *sum;
	size_t kept = first;

	for (size_t i = first; i < all->n; i++) {
		const struct item *x = &all->v[i];

		if (x->hosts.n || x->f->status != ST_PASS || !streq(x->f->check, f->check))
			all->v[kept++] = *x;
		else
			LIST_ADD(t->a, &subjects)->name = x->f->subject ?: "-";
		kept += i == first;
	}
	all->n = kept;
	sum = report_find(t->r, f->check, arena_printf(t->a, "%zu of them", subjects.n));
	finding_set(sum, ST_PASS, "%s", hostlist_fold(t->a, &subjects));
	all->v[first].f = sum;
}

static void summarize_here(const struct tally *t, item_list *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (!all->v[i].hosts.n && all->v[i].f->status == ST_PASS &&
		    passed_here(all, all->v[i].f->check) >= ALIKE)
			gather_here(t, all, i);
}

/* One line for all that passed on hosts in one stage; remarks without advice are left out. */
static void summarize(const struct tally *t, item_list *all)
{
	struct item sum = {0};
	struct names had = {0};
	size_t passed = 0, kept = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct item *x = &all->v[i];
		bool remark = x->f->status == ST_INFO && !x->f->fix.n;

		if (!x->hosts.n || (x->f->status != ST_PASS && !remark)) {
			all->v[kept++] = *x;
			continue;
		}
		passed += x->f->status == ST_PASS ? x->hosts.n : 0;
		sum.stage_name = x->stage_name;
		for (size_t h = 0; h < x->hosts.n; h++)
			if (!names_has(&had, x->hosts.v[h].name)) {
				names_add(&had, t->a, x->hosts.v[h].name);
				*LIST_ADD(t->a, &sum.hosts) = x->hosts.v[h];
			}
	}
	all->n = kept;
	if (!passed)
		return;
	sum.f = report_find(t->r, arena_printf(t->a, "stage.%s", sum.stage_name), sum.stage_name);
	sum.f->host = names_fold(t->a, &sum.hosts);
	finding_set(sum.f, ST_PASS, "%zu check%s passed", passed, passed == 1 ? "" : "s");
	*LIST_ADD(t->a, all) = sum;
}

/* A copy that says what to type for all of its hosts. */
static struct finding *typed(const struct tally *t, const struct item *x)
{
	struct finding *f = ARENA_NEW(t->a, struct finding);

	*f = *x->f;
	f->fix = (str_list){0};
	for (size_t i = 0; i < x->f->fix.n; i++)
		*LIST_ADD(t->a, &f->fix) = tally_on_all(t, x, x->f->fix.v[i]) ?: x->f->fix.v[i];
	return f;
}

void tally_emit(struct tally *t)
{
	if (t->fold) {
		item_list out = tally_folded(t, t->emitted, false);

		if (t->terse) {
			summarize(t, &out);
			summarize_here(t, &out);
		}
		for (size_t i = 0; i < out.n; i++)
			report_add(t->r, typed(t, &out.v[i]));
	} else {
		for (size_t i = t->emitted; i < t->items.n; i++)
			report_add(t->r, t->items.v[i].f);
	}
	t->emitted = t->items.n;
}
