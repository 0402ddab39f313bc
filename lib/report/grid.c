#include "lib/report/grid.h"

#include <math.h>

enum { MIN_NUMBER = 10, MIN_TEXT = 6, MIN_CUT = 8, GAP = 2 };

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

static const char *cell_text(struct arena *a, const struct column *c, const struct cell *cell)
{
	if (c->is_text)
		return cell->text && *cell->text ? grid_shown(a, cell->text) : NULL;
	return isfinite(cell->number) ? arena_printf(a, "%.*f", c->decimals, cell->number) : NULL;
}

static size_t last_shown(const struct grid *g)
{
	size_t last = 0;

	for (size_t i = 0; i < g->se->ncolumns; i++)
		if (g->width[i])
			last = i;
	return last;
}

/* Cuts @text to @width columns, with a mark that it was cut. */
static const char *cut(struct arena *a, const char *text, size_t width)
{
	const char *mark = term_utf8() ? "\xe2\x80\xa6" : "...";

	if (term_columns(text) <= width)
		return text;
	return arena_printf(a, "%.*s%s", (int)term_fit(text, width - term_columns(mark)), text,
			    mark);
}

/* A cell wider than its column pushes; the columns after it stay where they are if they can. */
static void put_line(struct sink *s, const struct grid *g, const char *const *text)
{
	size_t last = last_shown(g), at = 0, want = 0;

	for (size_t i = 0; i <= last; i++) {
		const char *t = text[i] ? text[i] : "-";
		size_t w = term_columns(t), pad;

		if (!g->width[i])
			continue;
		want += g->width[i];
		pad = is_right(&g->se->columns[i]) && at + w < want ? want - at - w : 0;
		fprintf(s->out, "%*s%s", (int)pad, "", t);
		at += pad + w;
		if (i == last)
			break;
		pad = (at < want ? want - at : 0) + GAP;
		fprintf(s->out, "%*s", (int)pad, "");
		at += pad;
		want += GAP;
	}
	fputc('\n', s->out);
}

static void put_head(struct sink *s, const struct term *t, const struct grid *g)
{
	fputs(term_on(t, STYLE_BOLD), s->out);
	put_line(s, g, g->head);
	fputs(term_off(t), s->out);
}

void grid_begin(struct sink *s, const struct term *t, struct grid *g, const struct series *se)
{
	*g = (struct grid){.se = se};
	g->head = arena_alloc(s->a, se->ncolumns * sizeof(*g->head));
	g->width = arena_alloc(s->a, se->ncolumns * sizeof(*g->width));
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
		w = text[i] ? term_columns(text[i]) : 0;
		if (w > g->width[i])
			g->width[i] = w;
		if (g->se->view && text[i]) /* shown later than the caller may keep it */
			text[i] = arena_strdup(s->a, text[i]);
	}
	if (g->se->view)
		*LIST_ADD(s->a, &g->rows) = text;
	else
		put_line(s, g, text);
}

/* Where a person looks, the last column of text gives way when the lines would wrap. */
static void fit(struct sink *s, const struct term *t, struct grid *g)
{
	size_t total = 0, text = SIZE_MAX, room;

	for (size_t i = 0; i < g->se->ncolumns; i++) {
		total += g->width[i] ? g->width[i] + (total ? GAP : 0) : 0;
		if (g->width[i] && g->se->columns[i].is_text)
			text = i;
	}
	if (!t->is_tty || total <= t->width || text == SIZE_MAX)
		return;
	room = g->width[text] > total - t->width ? g->width[text] - (total - t->width) : 0;
	if (room < MIN_CUT)
		room = MIN_CUT;
	if (room >= g->width[text])
		return;
	g->width[text] = room;
	g->head[text] = cut(s->a, g->head[text], room);
	for (size_t r = 0; r < g->rows.n; r++)
		if (g->rows.v[r][text])
			g->rows.v[r][text] = cut(s->a, g->rows.v[r][text], room);
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
			put_line(s, g, g->rows.v[r]);
	}
	g->se = NULL;
}
