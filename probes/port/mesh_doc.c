/* A rank's line of JSON: written there, read where it is judged. */
#include "probes/port/mesh_self.h"

#include "lib/report/json.h"
#include "probes/port/fix.h"

#include <math.h>

/* --- written ------------------------------------------------------------------------ */
static void put_node(struct mesh_self *s, cJSON *line)
{
	const struct iface_addr *mine = s->local.s.addr;
	cJSON *ports;

	json_str(line, "host", s->f->inv.hostname);
	json_str(line, "address", *s->cards[s->me].addr ? s->cards[s->me].addr : NULL);
	json_bool(line, "rdma", s->f->rdma.n > 0);
	if (mine) {
		json_str(line, "iface", mine->iface->name);
		json_str(line, "subnet", fix_subnet(mine, s->a));
		json_num(line, "mtu", mine->iface->mtu);
	}
	if (s->o->ports)
		return;
	ports = json_array(line, "ports");
	for (size_t i = 0; i < s->ports[s->me].n; i++)
		cJSON_AddItemToArray(ports, cJSON_CreateNumber(s->ports[s->me].v[i]));
}

/* "STATES CAUSES MS" of the @n results from @v on. */
static const char *row_text(const struct mesh_self *s, const struct reach_result *v, size_t n)
{
	char *line = arena_alloc(s->a, 2 * n + 32);
	float ms = NAN;

	for (size_t k = 0; k < n; k++) {
		line[k] = port_state_letter(v[k].state);
		line[n + 1 + k] = port_cause_letter(v[k].cause);
		if (port_state_is_reached(v[k].state) && !(v[k].ms >= ms))
			ms = v[k].ms;
	}
	line[n] = ' ';
	if (isfinite(ms))
		snprintf(line + 2 * n + 1, 31, " %.3f", (double)ms);
	else
		snprintf(line + 2 * n + 1, 31, " -");
	return line;
}

static void put_row(struct mesh_self *s, cJSON *line)
{
	const char **rows = arena_alloc(s->a, s->n * sizeof(*rows));
	cJSON *list = json_array(line, "row");
	size_t n;

	for (size_t i = 0; i < s->reach.n; i += n) {
		n = s->reach.v[i].target->ports.n;
		rows[s->target_rank[s->reach.v[i].target - s->targets.v]] =
			row_text(s, &s->reach.v[i], n);
	}
	for (size_t i = 0; i < s->n; i++)
		json_push_str(list, rows[i] ?: "");
}

static char talk_letter(enum talk_state t)
{
	return t == TALK_DONE ? '+' : t == TALK_STALLED ? 'x' : t == TALK_UNREACHED ? '-' : '.';
}

static void put_talks(struct mesh_self *s, cJSON *line)
{
	char *text = arena_alloc(s->a, s->n + 1);
	cJSON *mtus = json_array(line, "mtus"), *gbps = s->gbps ? json_array(line, "gbps") : NULL;

	for (size_t i = 0; i < s->n; i++) {
		text[i] = talk_letter(s->talks[i].state);
		cJSON_AddItemToArray(mtus, cJSON_CreateNumber(s->talks[i].state == TALK_STALLED
								      ? s->fits[i]
								      : s->talks[i].path_mtu));
		if (gbps)
			cJSON_AddItemToArray(gbps, isfinite(s->gbps[i])
							   ? cJSON_CreateNumber((double)s->gbps[i])
							   : cJSON_CreateNull());
	}
	json_str(line, "talks", text);
}

cJSON *mesh_line(struct mesh_self *s)
{
	cJSON *line = cJSON_CreateObject(), *findings;

	json_num(line, "rank", (double)s->me);
	put_node(s, line);
	put_row(s, line);
	put_talks(s, line);
	mesh_part(s, line);
	findings = json_array(line, "findings");
	local_warnings(&s->local, s->report, findings);
	mesh_names(s, findings);
	return line;
}

/* --- read ----------------------------------------------------------------------------- */
void mesh_init(struct mesh *m, const struct mesh_opts *o, size_t n, struct arena *a,
	       struct report *r)
{
	*m = (struct mesh){.o = o, .a = a, .report = r, .n = n};
	m->nodes = arena_alloc(a, n * sizeof(*m->nodes));
	m->cells = arena_alloc(a, n * n * sizeof(*m->cells));
	for (size_t i = 0; i < n * n; i++)
		m->cells[i].ms = m->cells[i].gbps = NAN;
}

static const char *copied(const struct mesh *m, const cJSON *line, const char *key)
{
	const char *s = json_get_str(line, key);

	return s ? arena_strdup(m->a, s) : NULL;
}

static void no_address(const struct mesh *m, const struct mesh_node *x)
{
	struct finding *f = report_find(m->report, "mesh.address", x->name);

	finding_set(f, ST_FAIL, "has no address that the others could use");
	finding_expect(f, "an interface that is up, with an address");
	finding_fix(f, "ifprobe   # on %s: shows what each interface lacks", x->name);
	report_add(m->report, f);
}

static void read_ports(const struct mesh *m, const cJSON *list, struct mesh_node *x)
{
	if (m->o->ports)
		x->ports = *m->o->ports;
	for (const cJSON *i = list ? list->child : NULL; i && !m->o->ports; i = i->next)
		if (cJSON_IsNumber(i) && i->valuedouble >= 1 && i->valuedouble < 65536)
			*LIST_ADD(m->a, &x->ports) = (uint16_t)i->valuedouble;
}

static void take_node(struct mesh *m, const cJSON *line, size_t at)
{
	struct mesh_node *x = &m->nodes[at];
	const char *addr = json_get_str(line, "address");

	x->asked = true;
	x->name = x->name ?: copied(m, line, "host") ?: "?";
	x->iface = copied(m, line, "iface");
	x->subnet = copied(m, line, "subnet");
	x->mtu = (unsigned)json_get_num(line, "mtu", 0);
	x->rdma = cJSON_IsTrue(json_get(line, "rdma"));
	x->rp_filter = copied(m, line, "rp_filter");
	read_ports(m, json_get(line, "ports"), x);
	if (addr && !addr_parse(addr, &x->addr))
		return;
	x->addr = (union addr){0};
	no_address(m, x);
}

static void read_cell(struct mesh *m, size_t from, size_t to, const char *row)
{
	struct mesh_cell *c = mesh_at(m, from, to);
	const struct mesh_node *x = &m->nodes[to];
	size_t n = x->ports.n;
	int state, cause;

	if (strlen(row) < 2 * n + 2)
		return;
	c->row = arena_strdup(m->a, row);
	c->ms = strtof(row + 2 * n + 1, NULL);
	c->ms = c->ms > 0 ? c->ms : NAN;
	for (size_t i = 0; i < n; i++) {
		state = port_state_of_letter(row[i]);
		cause = port_cause_of_letter(row[n + 1 + i]);
		if (state < 0 || cause < 0) {
			c->row = NULL;
			return;
		}
		if (state == PORT_OPEN || (state == PORT_REFUSED && !m->o->expect_open))
			continue;
		if (!c->bad++)
			c->bad_port = x->ports.v[i];
		if (c->bad == 1 || state != PORT_REFUSED) {
			c->state = (uint8_t)state;
			c->cause = (uint8_t)cause;
		}
	}
}

bool mesh_cell_is_bad(const struct mesh_cell *c) { return c->row && (c->bad || c->cut); }

static void read_talk(struct mesh_cell *c, char talk, const cJSON *mtu, const cJSON *gbps)
{
	c->cut = talk == 'x';
	if (c->cut && !c->bad)
		c->cause = CAUSE_BULK;
	if (cJSON_IsNumber(mtu))
		c->path_mtu = (uint16_t)mtu->valuedouble;
	if (cJSON_IsNumber(gbps))
		c->gbps = (float)gbps->valuedouble;
}

static void take_row(struct mesh *m, const cJSON *line, size_t from, const size_t *nodes, size_t n)
{
	const char *talks = json_get_str(line, "talks") ?: "";
	const cJSON *row = json_get(line, "row"), *mtus = json_get(line, "mtus");
	const cJSON *gbps = json_get(line, "gbps");

	row = row ? row->child : NULL;
	mtus = mtus ? mtus->child : NULL;
	gbps = gbps ? gbps->child : NULL;
	for (size_t i = 0; i < n; i++) {
		char talk = i < strlen(talks) ? talks[i] : '.';

		if (nodes[i] != MESH_NO_NODE && nodes[i] != from && cJSON_IsString(row)) {
			read_cell(m, from, nodes[i], row->valuestring);
			read_talk(mesh_at(m, from, nodes[i]), talk, mtus, gbps);
		}
		row = row ? row->next : NULL;
		mtus = mtus ? mtus->next : NULL;
		gbps = gbps ? gbps->next : NULL;
	}
}

/* --- what each knows of its part ---------------------------------------------------------- */
static bool may_have_rule(const struct mesh_cell *c)
{
	return c->row && c->bad &&
	       (c->cause == CAUSE_DROPPED || c->cause == CAUSE_HOST_FIREWALL ||
		c->cause == CAUSE_LIMITED || c->cause == CAUSE_OWN_FIREWALL);
}

static struct mesh_cell *cell_of(struct mesh *m, const cJSON *o, const size_t *nodes, size_t n)
{
	double from = json_get_num(o, "from", -1), to = json_get_num(o, "to", -1);

	if (!(from >= 0 && from < (double)n && to >= 0 && to < (double)n))
		return NULL;
	if (nodes[(size_t)from] == MESH_NO_NODE || nodes[(size_t)to] == MESH_NO_NODE)
		return NULL;
	return mesh_at(m, nodes[(size_t)from], nodes[(size_t)to]);
}

static void take_rules(struct mesh *m, const cJSON *line, const size_t *nodes, size_t n)
{
	const cJSON *list = json_get(line, "rules");

	for (const cJSON *i = list ? list->child : NULL; i; i = i->next) {
		struct mesh_cell *c = cell_of(m, i, nodes, n);

		if (!c || !may_have_rule(c) || !json_get_str(i, "rule"))
			continue;
		c->rule = copied(m, i, "rule");
		c->fix = copied(m, i, "fix") ?: "";
		c->fix_peer = copied(m, i, "peer") ?: "";
		if (streq(json_get_str(i, "hook") ?: "", "output"))
			c->cause = CAUSE_OWN_FIREWALL;
	}
}

static bool is_unexplained(const struct mesh_cell *c)
{
	return c->row && c->bad && c->cause == CAUSE_DROPPED && !c->rule;
}

/* Questions of theirs that arrived here, and whose answers got lost. */
static void take_half(struct mesh *m, size_t from, size_t me)
{
	struct mesh_cell *c = mesh_at(m, from, me);

	if (is_unexplained(c))
		c->cause = m->nodes[from].rp_filter ? CAUSE_OWN_RP_FILTER : CAUSE_WAY_BACK;
}

/* What goes to @peer does not leave from where what comes from it enters. */
static void take_elsewhere(struct mesh *m, size_t peer, size_t me)
{
	struct mesh_cell *to_me = mesh_at(m, peer, me), *to_peer = mesh_at(m, me, peer);

	if (is_unexplained(to_me) && m->nodes[me].rp_filter)
		to_me->cause = CAUSE_RP_FILTER;
	if (is_unexplained(to_peer))
		to_peer->cause = CAUSE_OTHER_WAY;
}

/* Silence has a reason when the question is known to have arrived, or a filter counted it. */
static void explain(struct mesh *m, const cJSON *list, size_t me, const size_t *nodes, size_t n,
		    void (*take)(struct mesh *m, size_t peer, size_t me))
{
	for (const cJSON *i = list ? list->child : NULL; i; i = i->next)
		if (cJSON_IsNumber(i) && i->valuedouble >= 0 && i->valuedouble < (double)n &&
		    nodes[(size_t)i->valuedouble] != MESH_NO_NODE)
			take(m, nodes[(size_t)i->valuedouble], me);
}

static void take_finding(struct mesh *m, const cJSON *i, const char *host)
{
	const char *check = json_get_str(i, "check");
	const cJSON *fix = json_get(i, "fix");
	struct finding *f;

	if (!check || !streq(json_get_str(i, "status") ?: "", "warn"))
		return;
	f = report_find(m->report, arena_strdup(m->a, check), json_get_str(i, "subject"));
	f->host = host;
	finding_set(f, ST_WARN, "%s", json_get_str(i, "message") ?: "");
	if (json_get_str(i, "expected"))
		finding_expect(f, "%s", json_get_str(i, "expected"));
	for (const cJSON *k = fix ? fix->child : NULL; k; k = k->next)
		if (cJSON_IsString(k))
			finding_fix(f, "%s", k->valuestring);
	report_add(m->report, f);
}

/* A name that misleads everybody is worth saying a few times, not a thousand. */
static void take_findings(struct mesh *m, const cJSON *line, size_t me)
{
	enum { SOME = 3 };
	const cJSON *list = json_get(line, "findings");

	for (const cJSON *i = list ? list->child : NULL; i; i = i->next) {
		bool is_name = streq(json_get_str(i, "check") ?: "", "mesh.name");

		if (!is_name || m->names_said++ < SOME)
			take_finding(m, i, m->nodes[me].name);
	}
}

void mesh_take(struct mesh *m, enum mesh_pass pass, const cJSON *line, const size_t *nodes,
	       size_t n)
{
	double rank = json_get_num(line, "rank", -1);
	size_t me;

	if (!(rank >= 0 && rank < (double)n))
		return;
	me = nodes[(size_t)rank];
	if (me == MESH_NO_NODE)
		return;
	if (pass == MESH_NODES)
		take_node(m, line, me);
	if (pass == MESH_ROWS)
		take_row(m, line, me, nodes, n);
	if (pass == MESH_RULES) {
		take_rules(m, line, nodes, n);
		explain(m, json_get(line, "half"), me, nodes, n, take_half);
	}
	if (pass == MESH_REST) {
		explain(m, json_get(line, "elsewhere"), me, nodes, n, take_elsewhere);
		take_findings(m, line, me);
	}
}
