/* What several hosts say alike becomes one item; so do many that differ in numbers alone. */
#include "lib/core/quote.h"
#include "lib/core/text.h"
#include "probes/tally/alike.h"
#include "probes/tally/names.h"
#include "probes/tally/tally.h"

enum {
	FEW = 3,    /* so many are told each by itself */
	SHORT = 32, /* a list of hosts that may stand twice in a line */
};

struct group {
	struct item item;	    /* the first; later all of their hosts */
	const char *said;	    /* what all of them say: its gist, later its shape */
	str_list fix;		    /* and advise: gists */
	bool says_more, fixes_more; /* not to the letter */
	uint64_t own_fix;	    /* which of these commands have numbers of each one's own */
};
typedef LIST(struct group) group_list;

struct groups {
	size_t *slots, mask; /* 0: free; else one more than its place in @all */
	group_list all;
};

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

static bool is_alike(const struct group *g, const struct group *h)
{
	const struct item *x = &g->item, *y = &h->item;

	return x->stage == y->stage && !x->hosts.n == !y->hosts.n && x->f->rank == y->f->rank &&
	       x->f->status == y->f->status && streq(x->f->check, y->f->check) &&
	       same_subject(x->f, y->f) && streq(g->said, h->said) &&
	       tally_same_fix(&g->fix, &h->fix);
}

/* What is_alike() compares, but for a subject, which may be the host. */
static uint32_t hash_of(const struct group *g)
{
	return text_hash(text_hash(0, g->item.f->check), g->said) + g->item.stage * 31u +
	       (uint32_t)g->item.f->status;
}

/* 512 hosts that look at each other make a quarter of a million items. */
static void groups_init(struct groups *g, struct arena *a, size_t n)
{
	size_t size = 16;

	while (size < 2 * n)
		size *= 2;
	*g = (struct groups){.mask = size - 1};
	g->slots = arena_alloc(a, size * sizeof(*g->slots));
}

/* The group that is alike; *ret_new: it is @x itself. */
static struct group *group_of(struct groups *g, struct arena *a, const struct group *x,
			      bool *ret_new)
{
	size_t at = hash_of(x) & g->mask;

	*ret_new = false;
	for (; g->slots[at]; at = (at + 1) & g->mask)
		if (is_alike(&g->all.v[g->slots[at] - 1], x))
			return &g->all.v[g->slots[at] - 1];
	*ret_new = true;
	*LIST_ADD(a, &g->all) = *x;
	g->slots[at] = g->all.n;
	return &g->all.v[g->all.n - 1];
}

static void add_hosts(struct arena *a, host_list *to, const host_list *from)
{
	for (size_t i = 0; i < from->n; i++)
		*LIST_ADD(a, to) = from->v[i];
}

/* ---- the same, but for who says it ---- */

bool tally_is_change(const struct finding *f) { return starts_with(f->check, "diff."); }

/* What passed is many, and names no host. */
static bool is_plain(const struct item *x)
{
	return !x->hosts.n || (x->f->status == ST_PASS && !tally_is_change(x->f));
}

static struct group group_for(struct arena *a, const struct item *x)
{
	struct group g = {.item = *x, .said = x->f->message, .fix = x->f->fix};

	if (is_plain(x))
		return g;
	g.said = alike_gist(a, x->f->message, x->f->host);
	g.fix = (str_list){0};
	for (size_t i = 0; i < x->f->fix.n; i++)
		*LIST_ADD(a, &g.fix) = alike_gist(a, x->f->fix.v[i], x->f->host);
	return g;
}

static void gather(struct groups *g, struct arena *a, const struct item *x)
{
	struct group one = group_for(a, x), *to;
	bool is_new;

	to = group_of(g, a, &one, &is_new);
	if (is_new)
		to->item.hosts = (host_list){0}; /* its own list: it may grow */
	to->says_more |= !streq(to->item.f->message, x->f->message);
	to->fixes_more |= !tally_same_fix(&to->item.f->fix, &x->f->fix);
	add_hosts(a, &to->item.hosts, &x->hosts);
}

/* ---- the same, but for numbers ---- */

struct family {
	str_list said;
	struct names hosts;
	size_t first; /* its place in the groups */
};

static void shape(struct arena *a, struct group *g)
{
	const str_list fix = g->fix;

	g->said = alike_shape(a, g->said);
	g->fix = (str_list){0};
	for (size_t i = 0; i < fix.n; i++)
		*LIST_ADD(a, &g->fix) = alike_shape(a, fix.v[i]);
}

static void join(struct arena *a, struct group *to, const struct group *kin)
{
	add_hosts(a, &to->item.hosts, &kin->item.hosts);
	to->fixes_more |= kin->fixes_more;
	for (size_t i = 0; i < to->fix.n && i < 64; i++)
		if (!streq(to->fix.v[i], kin->fix.v[i]))
			to->own_fix |= UINT64_C(1) << i;
	to->fixes_more |= to->own_fix != 0;
}

/* Groups of one shape, where there are more than a few of them, become the first of them. */
static void join_kin(struct arena *a, group_list *all)
{
	struct family *families = arena_alloc(a, (all->n + 1) * sizeof(*families));
	size_t *of = arena_alloc(a, (all->n + 1) * sizeof(*of)), kept = 0;
	struct groups shapes;

	groups_init(&shapes, a, all->n);
	for (size_t i = 0; i < all->n; i++) {
		struct group one = all->v[i];
		bool is_new;

		if (is_plain(&one.item))
			continue;
		shape(a, &one);
		of[i] = (size_t)(group_of(&shapes, a, &one, &is_new) - shapes.all.v);
		if (is_new)
			families[of[i]].first = i;
		*LIST_ADD(a, &families[of[i]].said) = all->v[i].said;
		for (size_t h = 0; h < one.item.hosts.n; h++)
			names_add(&families[of[i]].hosts, a, one.item.hosts.v[h].name);
	}
	for (size_t i = 0; i < all->n; i++) {
		struct family *f = &families[of[i]];

		if (is_plain(&all->v[i].item) || f->said.n <= FEW || f->hosts.n <= FEW) {
			all->v[kept++] = all->v[i];
		} else if (f->first == i) {
			all->v[i].said = alike_range(a, &f->said);
			all->v[i].says_more = true;
			f->first = kept; /* where it is from here on */
			all->v[kept++] = all->v[i];
		} else {
			join(a, &all->v[f->first], &all->v[i]);
		}
	}
	all->n = kept;
}

/* ---- as one ---- */

/* The line of one of them, for each; those that name hosts in a list name all. */
static void fill_fix(const struct tally *t, const struct group *g, const char *names,
		     struct finding *f)
{
	static const char hole[] = "\1", list[] = "--hosts \1";
	const char *one = g->item.f->host;
	struct arena *a = t->a;

	f->fix = (str_list){0};
	for (size_t i = 0; i < g->fix.n; i++) {
		const char *gist = g->fix.v[i];
		bool own = i < 64 && g->own_fix >> i & 1;

		if (!own && !strstr(gist, hole))
			*LIST_ADD(a, &f->fix) = gist;
		else if (!own && strstr(gist, list))
			*LIST_ADD(a, &f->fix) = alike_fill(a, gist, shell_quote(a, names), one);
		else
			*LIST_ADD(a, &f->fix) = tally_of_one(a, alike_fill(a, gist, one, one), one,
							     t->way ? t->way->rsh : NULL);
	}
}

/* One that says two things of one shape is one host all the same. */
static void once_each(host_list *sorted)
{
	size_t kept = 0;

	for (size_t i = 0; i < sorted->n; i++)
		if (!kept || !streq(sorted->v[kept - 1].name, sorted->v[i].name))
			sorted->v[kept++] = sorted->v[i];
	sorted->n = kept;
}

static struct item as_one(const struct tally *t, struct group *g)
{
	struct arena *a = t->a;
	struct finding *copy;
	struct item x = g->item;
	const char *all, *them;

	if (x.hosts.n < 2)
		return x;
	copy = ARENA_NEW(a, struct finding);
	*copy = *x.f;
	all = names_fold(a, &x.hosts);
	if (x.f->status != ST_PASS) {
		once_each(&x.hosts);
		all = names_fold(a, &x.hosts);
	}
	copy->host = t->fold ? names_brief(a, &x.hosts) : all;
	them = strlen(copy->host) > SHORT ? "these hosts" : copy->host;
	if (g->says_more)
		copy->message = alike_fill(a, g->said, them, x.f->host);
	if (copy->expected)
		copy->expected =
			alike_fill(a, alike_gist(a, copy->expected, x.f->host), them, them);
	if (g->fixes_more)
		fill_fix(t, g, all, copy);
	if (same_text(x.f->subject, x.f->host))
		copy->subject = copy->host;
	x.f = copy;
	return x;
}

item_list tally_folded(const struct tally *t, size_t from, bool wrong)
{
	item_list all = {0};
	struct groups g;

	groups_init(&g, t->a, t->items.n - from);
	for (size_t i = from; i < t->items.n; i++) {
		enum status st = t->items.v[i].f->status;

		if (t->items.v[i].retold)
			continue;
		if (!wrong || st == ST_FAIL || st == ST_ERROR || st == ST_WARN)
			gather(&g, t->a, &t->items.v[i]);
	}
	join_kin(t->a, &g.all);
	for (size_t i = 0; i < g.all.n; i++)
		*LIST_ADD(t->a, &all) = as_one(t, &g.all.v[i]);
	return all;
}
