/* Into the report: what hosts say alike as one line for people, what passed as a sum. */
#include "probes/tally/names.h"
#include "probes/tally/tally.h"

enum { ALIKE = 3 };

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
	sum = report_find(t->r, f->check, arena_printf(t->a, "%zu checks", subjects.n));
	finding_set(sum, ST_PASS, "passed: %s", hostlist_fold(t->a, &subjects));
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

		if (!x->hosts.n || (x->f->status != ST_PASS && !remark) || tally_is_change(x->f)) {
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
	sum.f->host = names_brief(t->a, &sum.hosts);
	finding_set(sum.f, ST_PASS, "%zu check%s passed", passed, passed == 1 ? "" : "s");
	*LIST_ADD(t->a, all) = sum;
}

/* A copy that says what to type for all of its hosts, and where. */
static struct finding *typed(const struct tally *t, const struct item *x)
{
	struct finding *f = ARENA_NEW(t->a, struct finding);

	*f = *x->f;
	f->fix = (str_list){0};
	for (size_t i = 0; i < x->f->fix.n; i++)
		*LIST_ADD(t->a, &f->fix) = tally_typed(t, x, x->f->fix.v[i]);
	return f;
}

/* For programs that are to read of very many hosts: what is wrong of each, the rest as a number. */
static void emit_wrong(const struct tally *t)
{
	const char *stage = NULL;
	struct finding *sum;
	size_t passed = 0;

	for (size_t i = t->emitted; i < t->items.n; i++) {
		const struct item *x = &t->items.v[i];
		bool single = !x->hosts.n || tally_is_change(x->f);
		bool passes = !single && x->f->status == ST_PASS;

		if (x->retold)
			continue;
		if (single || (!passes && (x->f->status != ST_INFO || x->f->fix.n)))
			report_add(t->r, x->f);
		stage = passes ? x->stage_name : stage;
		passed += passes;
	}
	if (!passed)
		return;
	sum = report_find(t->r, arena_printf(t->a, "stage.%s", stage), stage);
	finding_set(sum, ST_PASS, "%zu check%s passed", passed, passed == 1 ? "" : "s");
	report_add(t->r, sum);
}

/* A page that is written beside it has what each host said. */
static void emit_folded(const struct tally *t)
{
	item_list out = tally_folded(t, t->emitted, false);

	if (t->terse) {
		summarize(t, &out);
		summarize_here(t, &out);
	}
	for (size_t i = 0; i < out.n; i++)
		report_tell(t->r, typed(t, &out.v[i]));
	for (size_t i = t->emitted; i < t->items.n; i++)
		if (!t->items.v[i].retold)
			report_keep(t->r, t->items.v[i].f);
}

void tally_emit(struct tally *t)
{
	for (size_t i = t->emitted; i < t->items.n; i++)
		report_fit(t->r, t->items.v[i].f);
	if (t->fold) {
		emit_folded(t);
	} else if (t->terse) {
		emit_wrong(t);
	} else {
		for (size_t i = t->emitted; i < t->items.n; i++)
			if (!t->items.v[i].retold)
				report_add(t->r, t->items.v[i].f);
	}
	t->emitted = t->items.n;
}
