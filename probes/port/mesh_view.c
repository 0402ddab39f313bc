/* The matrix: rows from, columns to, one mark per cell. Names that are long stand behind the marks:
 * they are never cut, and the marks stay below each other. */
#include "lib/report/json.h"
#include "probes/port/mesh.h"
#include "probes/tally/names.h"

#include <math.h>

enum { WIDE = 24, FEW_ROWS = 32, NAME = 24, TEN = 11, TEN_WIDE = 20 /* columns, with blanks */ };
static const size_t HIDDEN = SIZE_MAX; /* of rows_alike() */
#define ALIKE "  and %zu more alike"

/* Columns that stand beside each other: all, or as many as a terminal has room for. */
struct block {
	size_t from, to, name_w; /* name_w 0: names stand behind */
};

static bool are_same(const struct mesh *m, size_t a, size_t b)
{
	const struct mesh_node *x = &m->nodes[a], *y = &m->nodes[b];

	return (x->same ?: x) == (y->same ?: y);
}

static char mark(const struct mesh *m, size_t from, size_t to)
{
	const struct mesh_cell *c = mesh_at(m, from, to);

	if (from == to)
		return '.';
	if (are_same(m, from, to))
		return '=';
	if (!c->row)
		return '?';
	if (!c->bad)
		return c->cut ? 'B' : '+';
	if (c->bad < m->nodes[to].ports.n)
		return '~';
	switch ((enum port_state)c->state) {
	case PORT_FILTERED:
		return 'F';
	case PORT_UNREACHABLE:
		return 'U';
	case PORT_REFUSED:
		return 'r';
	default:
		return 'X';
	}
}

static bool is_fine(const struct mesh *m, const struct block *b)
{
	for (size_t from = 0; from < m->n; from++)
		for (size_t to = b->from; to < b->to; to++)
			if (mark(m, from, to) != '+' && from != to)
				return false;
	return true;
}

/* A few columns have room for a blank between them; many stand close, in tens. */
static void put_gap(const struct mesh *m, const struct block *b, struct text *t, size_t to)
{
	text_add(t, m->n <= WIDE || (to > b->from && to % 10 == 0) ? " " : "");
}

static void put_header(const struct mesh *m, const struct block *b)
{
	struct text t;

	text_init(&t, m->a);
	text_addf(&t, "%-*s ", (int)b->name_w + 4, b->name_w ? "from \\ to" : "");
	for (size_t to = b->from; to < b->to; to++) {
		put_gap(m, b, &t, to);
		text_addf(&t, "%zu", to % 10);
	}
	report_remark(m->report, "%s", t.s);
}

/* Two rows that say the same of every host but themselves. */
static bool are_alike(const struct mesh *m, size_t a, size_t b)
{
	for (size_t to = 0; to < m->n; to++)
		if (to != a && to != b && mark(m, a, to) != mark(m, b, to))
			return false;
	return true;
}

/* @like: how many more rows look the same. */
static void put_row(const struct mesh *m, size_t from, size_t like, const struct block *b)
{
	struct text t;

	text_init(&t, m->a);
	text_addf(&t, "%3zu %-*s ", from, (int)b->name_w, b->name_w ? m->nodes[from].name : "");
	for (size_t to = b->from; to < b->to; to++) {
		char s[2] = {mark(m, from, to)};

		put_gap(m, b, &t, to);
		text_add(&t, s);
	}
	if (!b->name_w)
		text_addf(&t, "  %s", m->nodes[from].name);
	if (like)
		text_addf(&t, ALIKE, like);
	report_remark(m->report, "%s", t.s);
}

static void put_block(const struct mesh *m, const size_t *like, const struct block *b)
{
	put_header(m, b);
	for (size_t i = 0; i < m->n; i++)
		if (like[i] != HIDDEN)
			put_row(m, i, like[i], b);
}

/* Of each row that is shown how many more look the same, which are not. */
static size_t *rows_alike(const struct mesh *m)
{
	size_t *like = arena_alloc(m->a, m->n * sizeof(*like));

	for (size_t i = 0; i < m->n; i++)
		for (size_t k = i + 1; k < m->n && m->n > FEW_ROWS && like[i] != HIDDEN; k++)
			if (like[k] != HIDDEN && are_alike(m, i, k)) {
				like[k] = HIDDEN;
				like[i]++;
			}
	return like;
}

/* What of a row is no mark. */
static size_t beside_marks(const struct mesh *m, const size_t *like, size_t name_w)
{
	size_t name = name_w, more = 0;

	for (size_t i = 0; i < m->n; i++) {
		size_t behind = name_w || like[i] == HIDDEN ? 0 : strlen(m->nodes[i].name) + 2;

		name = behind > name ? behind : name;
		more = like[i] && like[i] != HIDDEN ? sizeof(ALIKE) : more;
	}
	return strlen("1000  ") + name + more;
}

/* The next block at @b->to: in one go all that follow and are fine, for which a line will do. */
static bool next_is_fine(const struct mesh *m, size_t step, struct block *b)
{
	struct block next = *b;
	bool fine = false;

	for (b->from = b->to; b->to < m->n; b->to = next.to, fine = true) {
		next.from = b->to;
		next.to = m->n - b->to > step ? b->to + step : m->n;
		if (!b->from || !is_fine(m, &next))
			break;
	}
	if (!fine)
		b->to = next.to;
	return fine;
}

/* What wraps is no matrix: where a terminal has no room for all columns, tens of them stand below
 * each other. */
static void put_blocks(const struct mesh *m, const size_t *like, size_t name_w, size_t room)
{
	size_t ten = m->n <= WIDE ? TEN_WIDE : TEN;
	size_t step = room / ten > 1 ? room / ten * 10 : 10;
	struct block b = {.name_w = name_w};

	while (b.to < m->n) {
		bool fine = next_is_fine(m, step, &b);

		report_remark(m->report, "to %zu-%zu%s", b.from, b.to - 1, fine ? ": all +" : ":");
		if (!fine)
			put_block(m, like, &b);
	}
}

static void put_matrix(const struct mesh *m, size_t name_w, size_t width)
{
	const struct block all = {0, m->n, name_w};
	const size_t *like = rows_alike(m);
	size_t beside = beside_marks(m, like, name_w);
	size_t marks = m->n <= WIDE ? 2 * m->n : m->n + m->n / 10;

	if (!width || beside + marks <= width)
		put_block(m, like, &all);
	else
		put_blocks(m, like, name_w, width > beside ? width - beside : 0);
}

static void put_legend(const struct mesh *m, bool bad)
{
	bool same = false;

	for (size_t i = 0; i < m->n; i++)
		same |= m->nodes[i].same != NULL;
	report_remark(m->report, "%s%s",
		      bad ? "+ every port answers   ~ some ports do not   F filtered (silence)   U "
			    "unreachable   B bulk stalls   ? not known"
			  : "+ every port answers",
		      same ? "   = the same machine" : "");
}

/* Has anybody told of a way? */
static bool is_known(const struct mesh *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->rows[i])
			return true;
	return false;
}

void mesh_view(const struct mesh *m, size_t width)
{
	const struct block all = {.to = m->n};
	size_t name_w = 5;

	if (!is_known(m))
		return;
	for (size_t i = 0; i < m->n; i++)
		if (strlen(m->nodes[i].name) > name_w)
			name_w = strlen(m->nodes[i].name);
	put_matrix(m, name_w > NAME ? 0 : name_w, width);
	put_legend(m, !is_fine(m, &all));
}

/* --- for programs ----------------------------------------------------------------- */
static const char *cell_name(const struct mesh *m, size_t from, size_t to)
{
	const struct mesh_cell *c = mesh_at(m, from, to);

	if (from == to || are_same(m, from, to))
		return "self";
	if (!c->row)
		return "unknown";
	if (!c->bad)
		return c->cut ? "blackhole" : "ok";
	return c->bad < m->nodes[to].ports.n ? "partial" : port_state_name(c->state) ?: "unknown";
}

/* Of a port alone; where the pair is known to have another cause for such silence, that. */
static enum port_cause cause_of_port(const struct mesh_cell *c, char letter)
{
	enum port_cause cause = (enum port_cause)port_cause_of_letter(letter);

	/* What its own rule dropped asked for no neighbour: the table is not full. */
	if (cause == CAUSE_NEIGHBOURS && c->cause == CAUSE_OWN_FIREWALL)
		return CAUSE_OWN_FIREWALL;
	if (cause == CAUSE_DROPPED &&
	    (c->cause == CAUSE_LINK || c->cause == CAUSE_PATHS || c->cause == CAUSE_NO_WAY_BACK ||
	     c->cause == CAUSE_ROUTER_BACK))
		return c->cause;
	return cause;
}

static void put_targets(const struct mesh *m, size_t from, size_t to, cJSON *list)
{
	const struct mesh_cell *c = mesh_at(m, from, to);
	const struct mesh_node *x = &m->nodes[to];
	struct addr_text at;

	for (size_t i = 0; c->row && i < x->ports.n; i++) {
		int state = port_state_of_letter(c->row[i]);
		char cause = c->row[x->ports.n + 1 + i];
		cJSON *t = json_push_object(list);

		json_str(t, "from", m->nodes[from].name);
		json_str(t, "to", x->name);
		json_str(t, "address", addr_print(&x->addr, &at));
		json_num(t, "port", x->ports.v[i]);
		json_str(t, "proto", "tcp");
		json_str(t, "state", port_state_name((enum port_state)state));
		if (port_state_is_reached((enum port_state)state))
			json_num(t, "ms", thousandths(c->ms));
		json_str(t, "cause", port_cause_text(cause_of_port(c, cause)));
	}
}

void mesh_data(const struct mesh *m, cJSON *data)
{
	cJSON *matrix = json_object(data, "matrix"), *hosts = json_array(matrix, "hosts");
	cJSON *addresses = json_array(matrix, "addresses"), *cells = json_array(matrix, "cells");
	cJSON *targets = json_array(data, "targets");
	struct addr_text at;

	for (size_t from = 0; from < m->n; from++) {
		const struct mesh_node *x = &m->nodes[from];
		cJSON *row = cJSON_CreateArray();

		json_push_str(hosts, x->name);
		json_push_str(addresses, x->addr.sa.sa_family ? addr_print(&x->addr, &at) : "");
		for (size_t to = 0; to < m->n; to++) {
			json_push_word(row, cell_name(m, from, to));
			if (from != to)
				put_targets(m, from, to, targets);
		}
		cJSON_AddItemToArray(cells, row);
	}
}

/* Each host by its name; where others have that, too, its address stands beside it. */
static const char **places(const struct mesh *m)
{
	const char **ret = arena_alloc(m->a, m->n * sizeof(*ret));
	struct names seen = {0}, shared = {0};
	struct addr_text at;

	for (size_t i = 0; i < m->n; i++)
		names_add(names_has(&seen, m->nodes[i].name) ? &shared : &seen, m->a,
			  m->nodes[i].name);
	for (size_t i = 0; i < m->n; i++) {
		const struct mesh_node *x = &m->nodes[i];

		ret[i] = names_has(&shared, x->name) && x->addr.sa.sa_family
				 ? arena_printf(m->a, "%s (%s)", x->name, addr_print(&x->addr, &at))
				 : x->name;
	}
	return ret;
}

/* What was measured of a pair; what was not has no key. */
static void put_pair(const struct mesh *m, size_t from, size_t to, cJSON *o)
{
	const struct mesh_cell *c = mesh_at(m, from, to);

	json_str(o, "state", cell_name(m, from, to));
	json_num(o, "ms", thousandths(c->ms));
	json_num(o, "path_mtu", c->path_mtu ? c->path_mtu : NAN);
	json_num(o, "gbps", thousandths(c->gbps));
	json_num(o, "resent", round((double)c->resent * 1e5) / 1e5);
}

void mesh_data_pairs(const struct mesh *m, cJSON *data)
{
	cJSON *list = json_array(data, "pairs"), *o;
	const char **place = places(m);

	MESH_EACH (m, from, to) {
		if (from == to || !mesh_at(m, from, to)->row)
			continue;
		o = json_push_object(list);
		json_str(o, "from", place[from]);
		json_str(o, "to", place[to]);
		put_pair(m, from, to, o);
	}
}
