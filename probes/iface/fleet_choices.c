/* The choices of many hosts side by side: a row for each, and of many a row for all that chose
 * alike; and those whose MTU is not the others'. */
#include "lib/cluster/on_each.h"
#include "lib/core/quote.h"
#include "lib/report/json.h"
#include "probes/iface/fleet.h"
#include "probes/iface/fleet_pairs.h"
#include "probes/tally/alike.h"

#include <math.h>

enum { ROWS_MAX = 32 };

struct choice {
	const struct answer *by;
	const char *iface, *why, *shape; /* shape: of why */
	double mtu;			 /* -1: unknown */
	size_t at, first;		 /* its place; that of the first that is alike */
};

static struct choice choice_of(struct fleet *f, const struct answer *by, size_t at)
{
	const char *why = answer_chose(by, "why") ?: "";

	return (struct choice){.by = by,
			       .iface = answer_chose(by, "interface") ?: "",
			       .why = why,
			       .shape = alike_shape(f->a, why),
			       .mtu = json_get_num(json_get(by->data, "suggest"), "mtu", -1),
			       .at = at,
			       .first = at};
}

static int by_way(const struct choice *x, const struct choice *y)
{
	int d = strcmp(x->iface, y->iface);

	return d ? d : (x->mtu > y->mtu) - (x->mtu < y->mtu);
}

static int by_kind(const void *px, const void *py)
{
	const struct choice *x = px, *y = py;
	int d = by_way(x, y);

	d = d ? d : strcmp(x->shape, y->shape);
	return d ? d : (x->at > y->at) - (x->at < y->at);
}

static int by_first(const void *px, const void *py)
{
	const struct choice *x = px, *y = py;
	int d = (x->first > y->first) - (x->first < y->first);

	return d ? d : (x->at > y->at) - (x->at < y->at);
}

static int by_mtu(const void *px, const void *py)
{
	const struct choice *x = px, *y = py;

	return (x->mtu > y->mtu) - (x->mtu < y->mtu);
}

static struct choice *choices_of(struct fleet *f, const struct answers *all)
{
	struct choice *v = arena_alloc(f->a, (all->n + 1) * sizeof(*v));

	for (size_t i = 0; i < all->n; i++)
		v[i] = choice_of(f, &all->v[i], i);
	return v;
}

/* ---- the table ---- */

static const struct column columns[] = {
	{.name = "host", .is_text = true},    {.name = "interface", .is_text = true},
	{.name = "address", .is_text = true}, {.name = "mtu"},
	{.name = "because", .is_text = true},
};
static const struct series view = {"choices", columns, ARRAY_LEN(columns), true};

/* [v, v + n) is one row. */
static void put_row(struct fleet *f, const struct choice *v, size_t n)
{
	str_list why = {0};
	host_list who = {0};

	for (size_t i = 0; i < n; i++) {
		*LIST_ADD(f->a, &why) = v[i].why;
		LIST_ADD(f->a, &who)->name = v[i].by->host;
	}
	const struct cell cells[] = {
		{names_brief(f->a, &who), NAN},
		{*v->iface ? v->iface : NULL, NAN},
		{n > 1 ? arena_printf(f->a, "%zu hosts", n) : answer_chose(v->by, "address"), NAN},
		{NULL, v->mtu < 0 ? (double)NAN : v->mtu},
		{*v->why ? alike_range(f->a, &why) : NULL, NAN},
	};
	report_row(f->report, cells);
}

void fleet_view_choices(struct fleet *f, const struct answers *all)
{
	struct choice *v = choices_of(f, all);
	size_t n = all->n;

	if (n > ROWS_MAX) {
		qsort(v, n, sizeof(*v), by_kind);
		for (size_t i = 1; i < n; i++)
			if (!by_way(&v[i], &v[i - 1]) && streq(v[i].shape, v[i - 1].shape))
				v[i].first = v[i - 1].first;
		qsort(v, n, sizeof(*v), by_first);
	}
	report_series(f->report, &view);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && v[next].first == v[i].first;)
			next++;
		put_row(f, v + i, next - i);
	}
}

/* ---- MTU ---- */

/* What most hosts have; among equals the larger. */
static double usual_mtu(struct choice *v, size_t n)
{
	double usual = -1;
	size_t most = 0;

	qsort(v, n, sizeof(*v), by_mtu);
	for (size_t i = 0, same; i < n; i += same) {
		for (same = 1; i + same < n && v[i + same].mtu == v[i].mtu;)
			same++;
		if (v[i].mtu >= 0 && same >= most) {
			usual = v[i].mtu;
			most = same;
		}
	}
	return usual;
}

/* One line for all whose interface has one name, and one MTU. */
static void fix_mtu(struct fleet *f, const struct choice *v, const host_list *who, double usual,
		    struct finding *g)
{
	const struct host_way way = {.rsh = f->rsh, .given = f->given, .n = f->hosts.n};
	const char *line = arena_printf(f->a, "sudo ip link set dev %s mtu %g",
					shell_quote(f->a, v->iface), usual);
	const char *on_all = who->n < 2 ? NULL : on_each(f->a, &way, who, line);

	if (on_all)
		finding_fix(g, "%s   # which have %g", on_all, v->mtu);
	else
		finding_fix(g, "%s   # on %s, which %s %g", line, hostlist_fold(f->a, who),
			    who->n < 2 ? "has" : "have", v->mtu);
}

/* The widest MTU a pair can use is the smaller one; bulk data of the other stalls. */
void fleet_compare_mtu(struct fleet *f, const struct answers *all)
{
	struct choice *v = choices_of(f, all);
	double usual = usual_mtu(v, all->n);
	struct finding *g = report_find(f->report, "link.mtu", "between hosts");
	host_list odd = {0};

	qsort(v, all->n, sizeof(*v), by_kind);
	for (size_t i = 0, next; i < all->n; i = next) {
		host_list who = {0};

		for (next = i; next < all->n && !by_way(&v[next], &v[i]); next++)
			LIST_ADD(f->a, &who)->name = v[next].by->host;
		if (v[i].mtu < 0 || v[i].mtu == usual)
			continue;
		(void)names_fold(f->a, &who);
		fix_mtu(f, &v[i], &who, usual, g);
		for (size_t k = 0; k < who.n; k++)
			*LIST_ADD(f->a, &odd) = who.v[k];
	}
	if (!odd.n)
		return;
	finding_set(g, ST_WARN, "the chosen interfaces differ in MTU: %g, but not on %s", usual,
		    f->fold ? names_brief(f->a, &odd) : names_fold(f->a, &odd));
	report_add(f->report, g);
}
