/* The table of hosts, for people: a row for each, and of many a row for all that came to the same.
 */
#include "lib/report/json.h"
#include "probes/preflight/drift.h"

#include <math.h>

enum { ROWS_MAX = 32, STAGES = S_PORTS - S_INTERFACE + 1 };

static const struct column columns[] = {
	{.name = "host", .is_text = true},     {.name = "interface", .is_text = true},
	{.name = "settings", .is_text = true}, {.name = "limits", .is_text = true},
	{.name = "gpus", .is_text = true},     {.name = "ports", .is_text = true}};
static const struct series view = {"nodes", columns, ARRAY_LEN(columns), true};

struct row {
	const char *came_to[STAGES]; /* NULL: it said nothing of that */
	host_list hosts;
};
typedef LIST(struct row) row_list;

static struct row row_of(struct preflight *p, const struct answer *a)
{
	struct row r = {0};

	for (size_t i = 0; i < STAGES; i++) {
		const char *st =
			json_get_str(answer_stage(a, S_INTERFACE + (enum stage_id)i), "status");

		r.came_to[i] = st ? arena_strdup(p->a, st) : NULL;
	}
	LIST_ADD(p->a, &r.hosts)->name = a->host;
	return r;
}

static bool is_same(const struct row *x, const struct row *y)
{
	for (size_t i = 0; i < STAGES; i++)
		if (!streq(x->came_to[i] ?: "", y->came_to[i] ?: ""))
			return false;
	return true;
}

/* There are few ways to come out of five stages, whatever the number of hosts. */
static void add(struct preflight *p, row_list *rows, const struct row *r, bool together)
{
	for (size_t i = 0; together && i < rows->n; i++)
		if (is_same(&rows->v[i], r)) {
			*LIST_ADD(p->a, &rows->v[i].hosts) = r->hosts.v[0];
			return;
		}
	*LIST_ADD(p->a, rows) = *r;
}

static bool is_blank(const struct row *r)
{
	for (size_t i = 0; i < STAGES; i++)
		if (r->came_to[i])
			return false;
	return true;
}

void preflight_view(struct preflight *p, const struct answers *all)
{
	bool together = all->n > ROWS_MAX && !p->verbose;
	row_list rows = {0};
	size_t blank = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct row r = row_of(p, &all->v[i]);

		blank += is_blank(&r);
		add(p, &rows, &r, together);
	}
	if (blank == all->n)
		return; /* nobody answered: that was said */
	report_series(p->r, &view);
	for (size_t i = 0; i < rows.n; i++) {
		struct cell cells[ARRAY_LEN(columns)] = {
			{.text = names_brief(p->a, &rows.v[i].hosts)}};

		for (size_t k = 0; k < STAGES; k++)
			cells[k + 1].text = rows.v[i].came_to[k];
		report_row(p->r, cells);
	}
}
