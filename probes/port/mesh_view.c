/* The matrix: rows from, columns to, one mark per cell. Names that are long stand behind the marks:
 * they are never cut, and the marks stay below each other. */
#include "lib/report/json.h"
#include "probes/port/mesh.h"

#include <math.h>

enum { WIDE = 24, FEW_ROWS = 32, NAME = 24 };

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

static bool row_is_fine(const struct mesh *m, size_t from)
{
	for (size_t to = 0; to < m->n; to++)
		if (mark(m, from, to) != '+' && from != to)
			return false;
	return true;
}

/* A few columns have room for a blank between them; many stand close, in tens. */
static void put_gap(const struct mesh *m, struct text *t, size_t to)
{
	text_add(t, m->n <= WIDE || (to && to % 10 == 0) ? " " : "");
}

static void put_header(const struct mesh *m, size_t name_w)
{
	struct text t;

	text_init(&t, m->a);
	text_addf(&t, "%-*s ", (int)name_w + 4, name_w ? "from \\ to" : "");
	for (size_t to = 0; to < m->n; to++) {
		put_gap(m, &t, to);
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

/* @like: how many more rows look the same; @name_w: 0 where names stand behind. */
static void put_row(const struct mesh *m, size_t from, size_t like, size_t name_w)
{
	struct text t;

	text_init(&t, m->a);
	text_addf(&t, "%3zu %-*s ", from, (int)name_w, name_w ? m->nodes[from].name : "");
	for (size_t to = 0; to < m->n; to++) {
		char s[2] = {mark(m, from, to)};

		put_gap(m, &t, to);
		text_add(&t, s);
	}
	if (!name_w)
		text_addf(&t, "  %s", m->nodes[from].name);
	if (like)
		text_addf(&t, "  and %zu more alike", like);
	report_remark(m->report, "%s", t.s);
}

static void put_rows(const struct mesh *m, size_t name_w)
{
	bool *shown = arena_alloc(m->a, m->n * sizeof(*shown));

	for (size_t i = 0; i < m->n; i++) {
		size_t like = 0;

		if (shown[i])
			continue;
		for (size_t k = i + 1; k < m->n && m->n > FEW_ROWS; k++)
			if (!shown[k] && are_alike(m, i, k)) {
				shown[k] = true;
				like++;
			}
		put_row(m, i, like, name_w);
	}
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

void mesh_view(const struct mesh *m)
{
	size_t name_w = 5;
	bool bad = false;

	for (size_t i = 0; i < m->n; i++) {
		if (strlen(m->nodes[i].name) > name_w)
			name_w = strlen(m->nodes[i].name);
		bad |= !row_is_fine(m, i);
	}
	name_w = name_w > NAME ? 0 : name_w;
	put_header(m, name_w);
	put_rows(m, name_w);
	put_legend(m, bad);
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

static void put_targets(const struct mesh *m, size_t from, size_t to, cJSON *list)
{
	const struct mesh_cell *c = mesh_at(m, from, to);
	const struct mesh_node *x = &m->nodes[to];
	struct addr_text at;

	for (size_t i = 0; c->row && i < x->ports.n; i++) {
		int state = port_state_of_letter(c->row[i]);
		int cause = port_cause_of_letter(c->row[x->ports.n + 1 + i]);
		cJSON *t = json_push_object(list);

		/* What its own rule dropped asked for no neighbour: the table is not full. */
		if (cause == CAUSE_NEIGHBOURS && c->cause == CAUSE_OWN_FIREWALL)
			cause = CAUSE_OWN_FIREWALL;
		json_str(t, "from", m->nodes[from].name);
		json_str(t, "to", x->name);
		json_str(t, "address", addr_print(&x->addr, &at));
		json_num(t, "port", x->ports.v[i]);
		json_str(t, "proto", "tcp");
		json_str(t, "state", port_state_name((enum port_state)state));
		if (port_state_is_reached((enum port_state)state))
			json_num(t, "ms", round((double)c->ms * 1000) / 1000);
		json_str(t, "cause", port_cause_text((enum port_cause)cause));
	}
}

/* What was measured of a pair; what was not has no key. */
static void put_pair(const struct mesh *m, size_t from, size_t to, cJSON *list)
{
	const struct mesh_cell *c = mesh_at(m, from, to);
	cJSON *o;

	if (!c->row)
		return;
	o = json_push_object(list);
	json_str(o, "from", m->nodes[from].name);
	json_str(o, "to", m->nodes[to].name);
	json_str(o, "state", cell_name(m, from, to));
	json_num(o, "ms", round((double)c->ms * 1000) / 1000);
	json_num(o, "path_mtu", c->path_mtu ? c->path_mtu : NAN);
	json_num(o, "gbps", round((double)c->gbps * 1000) / 1000);
	json_num(o, "resent", round((double)c->resent * 1e5) / 1e5);
}

void mesh_data(const struct mesh *m, cJSON *data)
{
	cJSON *matrix = json_object(data, "matrix"), *hosts = json_array(matrix, "hosts");
	cJSON *addresses = json_array(matrix, "addresses"), *cells = json_array(matrix, "cells");
	cJSON *targets = json_array(data, "targets");
	cJSON *measured = json_array(data, "pairs");
	struct addr_text at;

	for (size_t from = 0; from < m->n; from++) {
		const struct mesh_node *x = &m->nodes[from];
		cJSON *row = cJSON_CreateArray();

		json_push_str(hosts, x->name);
		json_push_str(addresses, x->addr.sa.sa_family ? addr_print(&x->addr, &at) : "");
		for (size_t to = 0; to < m->n; to++) {
			json_push_str(row, cell_name(m, from, to));
			if (from == to)
				continue;
			put_targets(m, from, to, targets);
			put_pair(m, from, to, measured);
		}
		cJSON_AddItemToArray(cells, row);
	}
}
