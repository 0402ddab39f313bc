/* The rows of a table as they come: shown, added up, and kept as far as somebody asks for them. */
#include "bench/sweep/row_event.h"
#include "bench/sweep/straggler.h"
#include "bench/sweep/table.h"
#include "lib/report/json.h"

void story_note_wrong(struct story *s, const struct sweep_row *row)
{
	if (!s->wrong.coll && (row->out.wrong > 0 || row->in.wrong > 0))
		s->wrong = *row->c;
}

static void show(struct story *s, const struct sweep_row *row)
{
	story_note_wrong(s, row);
	sweep_totals_add(&s->totals, row);
	if (s->groups.g.n)
		groups_book_add(&s->groups.book, row);
	table_row(s, row);
}

static void add_row(struct story *s, const struct story_row *new)
{
	const struct story_row *were = s->rows.v;

	*LIST_ADD(s->a, &s->rows) = *new;
	/* the list may have moved; of --run_cycles it becomes long */
	for (size_t i = s->rows.v == were ? s->rows.n - 1 : 0; i < s->rows.n; i++)
		s->rows.v[i].row.c = &s->rows.v[i].c;
}

/* --- rows without end ------------------------------------------------------------------------ */

static bool is_alike(const struct coll_case *a, const struct coll_case *b)
{
	return a->sizes.count == b->sizes.count && a->type == b->type && a->op == b->op &&
	       a->root == b->root;
}

static void forget_lists(struct measurement *m)
{
	m->times = m->each = m->rank_s = m->waited = NULL;
	m->ntimes = 0;
}

/* Of each case the best row is what is judged in the end. */
static void keep_best(struct story *s, struct story_row *new)
{
	size_t i = 0;

	forget_lists(&new->row.out);
	forget_lists(&new->row.in);
	while (i < s->rows.n && !is_alike(&s->rows.v[i].c, &new->c))
		i++;
	if (i == s->rows.n) {
		add_row(s, new);
	} else if (sweep_row_busbw(&new->row) > sweep_row_busbw(&s->rows.v[i].row)) {
		s->rows.v[i].row = new->row;
		s->rows.v[i].row.c = &s->rows.v[i].c;
	}
}

/* Until somebody stops it, which may be days: what nobody will ask for takes no memory. */
static void on_endless(struct story *s, const cJSON *event)
{
	AUTO(arena_done) struct arena a = {0};
	struct story_row new = {0};

	if (row_event_unpack(event, s->sweep.coll, (int)s->ranks.n, &a, &new.c, &new.row))
		return;
	new.row.c = &new.c;
	show(s, &new.row);
	if (!s->waited)
		s->waited = arena_alloc(s->a, (s->ranks.n + 1) * sizeof(*s->waited));
	s->waited_of_s += straggler_add(s, &new.row, s->waited);
	keep_best(s, &new);
}

/* --- all ------------------------------------------------------------------------------------- */

void story_row_event(struct story *s, const cJSON *event)
{
	struct story_row new = {0};

	if (!s->begun)
		return;
	if (s->sweep.for_ns) {
		burnin_row(s, event);
		return;
	}
	if (!s->sweep.cycles && !s->o->keeps_rows && !report_wants_data(s->r)) {
		on_endless(s, event);
		return;
	}
	if (row_event_unpack(event, s->sweep.coll, (int)s->ranks.n, s->a, &new.c, &new.row))
		return;
	add_row(s, &new);
	show(s, &s->rows.v[s->rows.n - 1].row);
}
