#include "lib/report/grid.h"

#include <math.h>

enum { MIN_NUMBER = 10, MIN_TEXT = 6, MIN_WORDS = 20, GAP = 2, BELOW = 2 };
static const size_t NO_END = SIZE_MAX;

const char *grid_shown(struct arena *a, const char *s)
{
	const char *p = s;
	char *copy;

	while (*p >= ' ' && *p < 0x7f)
		p++;
	if (!*p)
		return s;
	copy = arena_strdup(a, s);
	term_clean(copy);
	return copy;
}

static bool is_right(const struct column *c) { return c->right || !c->is_text; }

/* Each of @s's lines harmless; @between stands between them. */
static const char *items(struct arena *a, const char *s, const char *between)
{
	struct text t;

	text_init(&t, a);
	for (size_t n; *s; s += n + (s[n] == '\n')) {
		n = strcspn(s, "\n");
		text_addf(&t, "%s%s", t.n ? between : "", grid_shown(a, arena_strndup(a, s, n)));
	}
	return t.s;
}

static const char *cell_text(struct arena *a, const struct column *c, const struct cell *cell)
{
	if (c->is_text && cell->text && *cell->text)
		return c->is_list ? items(a, cell->text, "\n") : grid_shown(a, cell->text);
	return !c->is_text && isfinite(cell->number)
		       ? arena_printf(a, "%.*f", c->decimals, cell->number)
		       : NULL;
}

const char *grid_wrapped(struct arena *a, const char *text, size_t first, size_t room)
{
	bool begun = first < room;
	size_t gap = 0;
	struct text t;

	text_init(&t, a);
	for (size_t n; *text; text += n + gap) {
		size_t w;

		n = strcspn(text, " ");
		w = gap + term_columns(arena_strndup(a, text, n));
		if (w > first && begun) {
			text_add(&t, "\n");
			first = room + gap; /* which is not shown */
		} else {
			text_addn(&t, text - gap, gap);
		}
		text_addn(&t, text, n);
		first = first > w ? first - w : 0;
		begun = true;
		gap = strspn(text + n, " ");
	}
	return t.s;
}

/* The widest of what @ends end. */
static size_t widest(struct arena *a, const char *text, const char *ends)
{
	size_t most = 0;

	for (size_t n; *text; text += n + (text[n] != '\0')) {
		size_t w;

		n = strcspn(text, ends);
		w = term_columns(arena_strndup(a, text, n));
		most = w > most ? w : most;
	}
	return most;
}

/* A cell in so much room: a list in one line where it fits, else each item in its own. */
static const char *laid(struct arena *a, const char *text, bool is_list, size_t room)
{
	const char *line = is_list ? items(a, text, ", ") : text;
	struct text t;

	if (term_columns(line) <= room)
		return line;
	if (!is_list)
		return grid_wrapped(a, text, room, room);
	text_init(&t, a);
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		text_addf(&t, "%s%s", t.n ? "\n" : "",
			  grid_wrapped(a, arena_strndup(a, text, n), room, room));
	}
	return t.s;
}

/* The first column of the next line. */
static size_t next_line(const struct grid *g, size_t from)
{
	do
		from++;
	while (from < g->se->ncolumns && !g->below[from]);
	return from;
}

static bool says_more(const struct grid *g, const char *const *text, size_t from)
{
	while (from < g->se->ncolumns && !text[from])
		from++;
	return from < g->se->ncolumns;
}

static size_t last_shown(const struct grid *g, size_t from, size_t to)
{
	size_t last = from;

	for (size_t i = from; i < to; i++)
		if (g->width[i])
			last = i;
	return last;
}

static void put_rest(struct sink *s, const char *rest, size_t at)
{
	for (size_t n; rest; rest = rest[n] ? rest + n + 1 : NULL) {
		n = strcspn(rest, "\n");
		fprintf(s->out, "%*s%.*s\n", (int)at, "", (int)n, rest);
	}
}

/* A cell wider than its column pushes; the columns after it stay where they are if they can. */
static void put_line(struct sink *s, const struct grid *g, const char *const *text, size_t from,
		     size_t to)
{
	size_t last = last_shown(g, from, to), at = from ? g->indent : 0, want = at, rest_at = 0;
	const char *rest = NULL;

	fprintf(s->out, "%*s", (int)at, "");
	for (size_t i = from; i <= last; i++) {
		const char *t = text[i] ? text[i] : "-";
		size_t n = strcspn(t, "\n"), w = term_columns(arena_strndup(s->a, t, n)), pad;

		if (!g->width[i])
			continue;
		want += g->width[i];
		pad = is_right(&g->se->columns[i]) && at + w < want ? want - at - w : 0;
		fprintf(s->out, "%*s%.*s", (int)pad, "", (int)n, t);
		if (t[n]) {
			rest = t + n + 1;
			rest_at = at + pad;
		}
		at += pad + w;
		if (i == last)
			break;
		pad = (at < want ? want - at : 0) + GAP;
		fprintf(s->out, "%*s", (int)pad, "");
		at += pad;
		want += GAP;
	}
	fputc('\n', s->out);
	put_rest(s, rest, rest_at);
}

static void put_row(struct sink *s, const struct grid *g, const char *const *text)
{
	for (size_t from = 0, to; !from || says_more(g, text, from); from = to) {
		to = next_line(g, from);
		put_line(s, g, text, from, to);
	}
}

static void put_head(struct sink *s, const struct term *t, const struct grid *g)
{
	fputs(term_on(t, STYLE_BOLD), s->out);
	put_row(s, g, g->head);
	fputs(term_off(t), s->out);
}

void grid_begin(struct sink *s, const struct term *t, struct grid *g, const struct series *se)
{
	*g = (struct grid){.se = se};
	g->head = arena_alloc(s->a, se->ncolumns * sizeof(*g->head));
	g->width = arena_alloc(s->a, se->ncolumns * sizeof(*g->width));
	g->below = arena_alloc(s->a, se->ncolumns * sizeof(*g->below));
	for (size_t i = 0; i < se->ncolumns; i++) {
		const struct column *c = &se->columns[i];
		size_t min = c->is_text ? MIN_TEXT : MIN_NUMBER, w;

		g->head[i] = c->unit ? arena_printf(s->a, "%s (%s)", c->name, c->unit) : c->name;
		w = term_columns(g->head[i]);
		g->width[i] = se->view ? 0 : w > min ? w : min;
	}
	if (!se->view)
		put_head(s, t, g);
}

void grid_add(struct sink *s, struct grid *g, const struct cell *cells)
{
	size_t n = g->se->ncolumns;
	const char **text = arena_alloc(s->a, n * sizeof(*text));

	for (size_t i = 0; i < n; i++) {
		size_t w;

		text[i] = cell_text(s->a, &g->se->columns[i], &cells[i]);
		w = text[i] ? term_columns(laid(s->a, text[i], g->se->columns[i].is_list, NO_END))
			    : 0;
		if (w > g->width[i])
			g->width[i] = w;
		if (g->se->view && text[i]) /* shown later than the caller may keep it */
			text[i] = arena_strdup(s->a, text[i]);
	}
	if (g->se->view)
		*LIST_ADD(s->a, &g->rows) = text;
	else
		put_row(s, g, text);
}

/* The least that the column which gives way can have: words and items stay whole, and a few words
 * stand side by side. */
static size_t least(const struct sink *s, const struct grid *g, size_t column, size_t most)
{
	bool is_list = g->se->columns[column].is_list;
	size_t word = term_columns(g->head[column]), item = is_list ? 0 : MIN_WORDS;

	for (size_t r = 0; r < g->rows.n; r++) {
		const char *text = g->rows.v[r][column] ?: "";
		size_t w = widest(s->a, text, " \n"), i = is_list ? widest(s->a, text, "\n") : 0;

		word = w > word ? w : word;
		item = i > item ? i : item;
	}
	item = item < g->width[column] ? item : g->width[column];
	return item > word && item <= most ? item : word;
}

static size_t line_width(const struct grid *g, size_t from, size_t to)
{
	size_t w = from ? g->indent : 0;

	for (size_t i = from; i < to; i++)
		w += g->width[i] ? g->width[i] + (i > from ? GAP : 0) : 0;
	return w;
}

/* Columns for which a line has no room stand in another one below it. */
static void spread(const struct term *t, struct grid *g)
{
	for (size_t i = 0, from = 0; i < g->se->ncolumns; i++)
		if (i > from && g->width[i] && line_width(g, from, i + 1) > t->width) {
			g->below[i] = true;
			from = i;
		}
}

/* What the line of @column has over is that column's. */
static void widen(const struct term *t, struct grid *g, size_t column, size_t most)
{
	size_t from = 0, to, used;

	while ((to = next_line(g, from)) <= column)
		from = to;
	used = line_width(g, from, to);
	if (used < t->width)
		g->width[column] += t->width - used;
	if (g->width[column] > most)
		g->width[column] = most;
}

static void lay(struct sink *s, struct grid *g, size_t column, size_t room)
{
	for (size_t r = 0; r < g->rows.n; r++)
		if (g->rows.v[r][column])
			g->rows.v[r][column] = laid(s->a, g->rows.v[r][column],
						    g->se->columns[column].is_list, room);
}

/* One of text that a line of its own has no room for takes several. */
static void break_long(struct sink *s, const struct term *t, struct grid *g, size_t give)
{
	for (size_t i = 0; i < give; i++)
		if (g->below[i] && g->se->columns[i].is_text && g->indent + g->width[i] > t->width)
			lay(s, g, i, t->width - g->indent);
}

/* Where a person looks no line is longer than the terminal is wide, and nothing is cut: the last
 * column of text gives way, its cells taking several lines, or columns stand below the others. */
static void fit(struct sink *s, const struct term *t, struct grid *g)
{
	size_t give = g->se->ncolumns, most;

	for (size_t i = 0; i < g->se->ncolumns; i++)
		if (g->width[i] && g->se->columns[i].is_text)
			give = i;
	if (give == g->se->ncolumns)
		return;
	most = g->width[give];
	if (t->is_tty && line_width(g, 0, g->se->ncolumns) > t->width) {
		g->width[give] = least(s, g, give, t->width - BELOW);
		g->indent = g->width[0] + GAP;
		for (size_t i = 1; i < g->se->ncolumns; i++)
			if (g->indent + g->width[i] > t->width)
				g->indent = BELOW;
		spread(t, g);
		widen(t, g, give, most);
		break_long(s, t, g, give);
	}
	lay(s, g, give, g->width[give]);
}

void grid_end(struct sink *s, const struct term *t, struct grid *g)
{
	if (!g->se)
		return;
	if (g->rows.n) {
		for (size_t i = 0; i < g->se->ncolumns; i++) {
			size_t w = term_columns(g->head[i]);

			if (g->width[i] && g->width[i] < w)
				g->width[i] = w;
		}
		fit(s, t, g);
		put_head(s, t, g);
		for (size_t r = 0; r < g->rows.n; r++)
			put_row(s, g, g->rows.v[r]);
	}
	g->se = NULL;
}
