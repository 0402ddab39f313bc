/* What several hosts say alike becomes one line for people. */
#include "probes/preflight/tally.h"

enum { ALIKE = 3 };

static bool same_text(const char *x, const char *y) { return x == y || (x && y && streq(x, y)); }

static bool same_fix(const struct finding *x, const struct finding *y)
{
	if (x->fix.n != y->fix.n)
		return false;
	for (size_t i = 0; i < x->fix.n; i++)
		if (!streq(x->fix.v[i], y->fix.v[i]))
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
	       same_fix(x->f, y->f);
}

/* "node[0-3]" whatever the order in which they said it; node2 before node10. */
static const char *fold_names(struct arena *a, host_list *l)
{
	for (size_t i = 1; i < l->n; i++)
		for (size_t k = i; k && strverscmp(l->v[k - 1].name, l->v[k].name) > 0; k--) {
			struct host x = l->v[k];

			l->v[k] = l->v[k - 1];
			l->v[k - 1] = x;
		}
	return hostlist_fold(a, l);
}

static void join(struct tally *t, struct item *to, const struct item *from)
{
	struct finding *copy = ARENA_NEW(t->a, struct finding);

	*copy = *to->f;
	for (size_t i = 0; i < from->hosts.n; i++)
		*LIST_ADD(t->a, &to->hosts) = from->hosts.v[i];
	if (to->hosts.n)
		copy->host = fold_names(t->a, &to->hosts);
	if (same_text(to->f->subject, to->f->host))
		copy->subject = copy->host;
	to->f = copy;
}

item_list tally_folded(const struct tally *t, size_t from)
{
	struct tally w = *t;
	item_list out = {0};

	for (size_t i = from; i < t->items.n; i++) {
		const struct item *x = &t->items.v[i];
		size_t k = 0;

		while (k < out.n && !is_alike(&out.v[k], x))
			k++;
		if (k < out.n) {
			join(&w, &out.v[k], x);
			continue;
		}
		*LIST_ADD(t->a, &out) = *x;
		out.v[k].hosts = (host_list){0}; /* its own list: it may grow */
		for (size_t h = 0; h < x->hosts.n; h++)
			*LIST_ADD(t->a, &out.v[k].hosts) = x->hosts.v[h];
	}
	return out;
}

static bool has_host(const host_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (streq(l->v[i].name, name))
			return true;
	return false;
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
			if (!has_host(&sum.hosts, x->hosts.v[h].name))
				*LIST_ADD(t->a, &sum.hosts) = x->hosts.v[h];
	}
	all->n = kept;
	if (!passed)
		return;
	sum.f = report_find(t->r, arena_printf(t->a, "stage.%s", sum.stage_name), sum.stage_name);
	sum.f->host = fold_names(t->a, &sum.hosts);
	finding_set(sum.f, ST_PASS, "%zu check%s passed", passed, passed == 1 ? "" : "s");
	*LIST_ADD(t->a, all) = sum;
}

void tally_emit(struct tally *t)
{
	if (t->fold) {
		item_list out = tally_folded(t, t->emitted);

		if (t->terse) {
			summarize(t, &out);
			summarize_here(t, &out);
		}
		for (size_t i = 0; i < out.n; i++)
			report_add(t->r, out.v[i].f);
	} else {
		for (size_t i = t->emitted; i < t->items.n; i++)
			report_add(t->r, t->items.v[i].f);
	}
	t->emitted = t->items.n;
}
