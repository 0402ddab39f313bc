/* The ranks' lines of JSON, taken where they are judged. None of them is trusted. */
#include "probes/port/mesh.h"

#include "lib/report/json.h"

#include <math.h>

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

/* Pairs of a machine with itself prove nothing, and whoever it was meant to be was not asked. */
static void take_same(struct mesh *m, size_t first, struct mesh_node *x)
{
	struct finding *f = report_find(m->report, "mesh.same", x->name);

	x->same = &m->nodes[first];
	finding_set(f, ST_ERROR,
		    "is the same machine as %s: nothing is between them, and whatever else was "
		    "meant by it was not asked",
		    streq(x->same->name ?: "", x->name) ? "another one here" : x->same->name ?: "?");
	finding_expect(f, "another machine");
	finding_fix(f, m->o->serve ? "paste the line on each other machine, once"
				   : "take it out of --hosts, or name the machine that is meant");
	report_add(m->report, f);
}

static void take_node(struct mesh *m, const cJSON *line, size_t at, const size_t *nodes, size_t n)
{
	double same = json_get_num(line, "same", -1);
	struct mesh_node *x = &m->nodes[at];
	const char *addr = json_get_str(line, "address");
	double mtu = json_get_num(line, "mtu", 0);

	if (x->asked) /* once is enough */
		return;
	x->asked = true;
	x->name = x->name ?: copied(m, line, "host") ?: "?";
	x->iface = copied(m, line, "iface");
	x->subnet = copied(m, line, "subnet");
	x->mtu = mtu >= 0 && mtu <= UINT16_MAX + 1 ? (unsigned)mtu : 0; /* lo has 65536 */
	x->rdma = cJSON_IsTrue(json_get(line, "rdma"));
	x->rp_filter = copied(m, line, "rp_filter");
	x->strict = cJSON_IsTrue(json_get(line, "strict"));
	x->strict_other = copied(m, line, "strict_other");
	x->rules_known = cJSON_IsTrue(json_get(line, "rules_known"));
	x->rules_trouble = copied(m, line, "rules_trouble");
	x->rules_fix = copied(m, line, "rules_fix");
	read_ports(m, json_get(line, "ports"), x);
	if (addr && !addr_parse(addr, &x->addr))
		addr = x->addr.sa.sa_family ? addr : NULL;
	else
		x->addr = (union addr){0};
	if (same >= 0 && same < (double)n && nodes[(size_t)same] < at)
		take_same(m, nodes[(size_t)same], x);
	else if (!x->addr.sa.sa_family)
		no_address(m, x);
}

static void read_cell(struct mesh *m, size_t from, size_t to, const char *row)
{
	struct mesh_cell *c = mesh_at(m, from, to);
	const struct mesh_node *x = &m->nodes[to];
	size_t n = x->ports.n;
	int state, cause;

	if (c->row || strlen(row) < 2 * n + 2) /* once is enough */
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

static void read_talk(struct mesh_cell *c, char talk, const cJSON *mtu)
{
	c->cut = talk == 'x';
	if (c->cut && !c->bad)
		c->cause = CAUSE_BULK;
	if (cJSON_IsNumber(mtu) && mtu->valuedouble >= 0 && mtu->valuedouble <= UINT16_MAX)
		c->path_mtu = (uint16_t)mtu->valuedouble;
}

static const cJSON *first_of(const cJSON *list) { return list ? list->child : NULL; }
static const cJSON *next_of(const cJSON *item) { return item ? item->next : NULL; }

static void take_row(struct mesh *m, const cJSON *line, size_t from, const size_t *nodes, size_t n)
{
	const char *talks = json_get_str(line, "talks") ?: "";
	const cJSON *row = first_of(json_get(line, "row")), *mtu = first_of(json_get(line, "mtus"));

	for (size_t i = 0; i < n; i++, row = next_of(row), mtu = next_of(mtu)) {
		char talk = i < strlen(talks) ? talks[i] : '.';

		if (nodes[i] == MESH_NO_NODE || nodes[i] == from || !cJSON_IsString(row))
			continue;
		read_cell(m, from, nodes[i], row->valuestring);
		read_talk(mesh_at(m, from, nodes[i]), talk, mtu);
	}
}

static void take_rates(struct mesh *m, const cJSON *line, size_t from, const size_t *nodes,
		       size_t n)
{
	const cJSON *gbps = first_of(json_get(line, "gbps"));

	for (size_t i = 0; i < n; i++, gbps = next_of(gbps))
		if (nodes[i] != MESH_NO_NODE && nodes[i] != from && cJSON_IsNumber(gbps))
			mesh_at(m, from, nodes[i])->gbps = (float)gbps->valuedouble;
}

/* --- what each knows of its part ---------------------------------------------------------- */
/* A rule for the question itself outweighs one for the answer. */
static bool may_have_rule(const struct mesh_cell *c, enum mesh_hook hook, bool perhaps)
{
	bool asked = hook == MESH_IN || hook == MESH_OUT;
	bool silent = c->cause == CAUSE_DROPPED || c->cause == CAUSE_LOST_ANSWER;
	bool answered = c->cause == CAUSE_OWN_ANSWER || c->cause == CAUSE_THEIR_ANSWER;

	if (!c->row || !c->bad)
		return false;
	/* What the asker's own rule drops is dropped before anybody asks for a neighbour. */
	if (c->cause == CAUSE_NEIGHBOURS)
		return hook == MESH_OUT && !perhaps;
	if (hook == MESH_FOUND || hook == MESH_FINDS)
		return !c->rule && (silent || c->cause == CAUSE_NOT_SEEN6);
	return asked ? silent || answered || c->cause == CAUSE_HOST_FIREWALL ||
			       c->cause == CAUSE_LIMITED || c->cause == CAUSE_OWN_FIREWALL ||
			       c->cause == CAUSE_RESET
		     : silent && !c->rule;
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

static bool is_hook(const char *text, enum mesh_hook *ret)
{
	for (*ret = MESH_IN; text && *ret < MESH_HOOKS; (*ret)++)
		if (streq(text, mesh_hooks[*ret]))
			return true;
	return false;
}

static enum port_cause cause_of(const struct mesh_cell *c, enum mesh_hook hook)
{
	switch (hook) {
	case MESH_OUT:
		return CAUSE_OWN_FIREWALL;
	case MESH_ANSWER_IN:
		return CAUSE_OWN_ANSWER;
	case MESH_ANSWER_OUT:
		return CAUSE_THEIR_ANSWER;
	case MESH_FOUND:
		return CAUSE_THEIR_ND;
	case MESH_FINDS:
		return CAUSE_OWN_ND;
	case MESH_IN:
	case MESH_HOOKS:
		break;
	}
	return c->cause == CAUSE_HOST_FIREWALL || c->cause == CAUSE_LIMITED ||
			       c->cause == CAUSE_RESET
		       ? c->cause
		       : CAUSE_DROPPED;
}

static void add_rule(struct mesh *m, struct mesh_cell *c, const cJSON *i)
{
	struct mesh_more **at = &c->more, *x = ARENA_NEW(m->a, struct mesh_more);
	size_t n = 1;

	for (; *at && n < MESH_MOST_RULES; at = &(*at)->next)
		n++;
	*x = (struct mesh_more){.rule = copied(m, i, "rule"), .fix = copied(m, i, "fix") ?: ""};
	if (n < MESH_MOST_RULES)
		*at = x;
}

static void take_rules(struct mesh *m, const cJSON *line, const size_t *nodes, size_t n)
{
	const cJSON *list = json_get(line, "rules");
	enum mesh_hook hook;

	for (const cJSON *i = list ? list->child : NULL; i; i = i->next) {
		struct mesh_cell *c = cell_of(m, i, nodes, n);

		if (!c || !json_get_str(i, "rule") || !is_hook(json_get_str(i, "hook"), &hook))
			continue;
		if (c->rule && c->hook == hook) {
			add_rule(m, c, i);
			continue;
		}
		if (!may_have_rule(c, hook, cJSON_IsTrue(json_get(i, "perhaps"))))
			continue;
		c->hook = (uint8_t)hook;
		c->more = NULL;
		c->rule = copied(m, i, "rule");
		c->fix = copied(m, i, "fix") ?: "";
		c->fix_peer = copied(m, i, "peer") ?: "";
		c->cause = (uint8_t)cause_of(c, hook);
	}
}

static bool is_unexplained(const struct mesh_cell *c)
{
	return c->row && c->bad && c->cause == CAUSE_DROPPED && !c->rule;
}

static bool is_half(const struct mesh_cell *c)
{
	return c->row && c->bad && c->cause == CAUSE_LOST_ANSWER && !c->rule;
}

/* Questions of theirs that arrived here, and whose answers got lost. */
static void take_half(struct mesh *m, size_t from, size_t me)
{
	struct mesh_cell *c = mesh_at(m, from, me);

	if (is_unexplained(c))
		c->cause = m->nodes[from].rp_filter ? CAUSE_OWN_RP_FILTER : CAUSE_LOST_ANSWER;
}

/*
 * What goes to @peer does not leave from where what comes from it enters. Is it
 * a filter that minds, here or there? Those that are strict drop all of it.
 */
static void take_elsewhere(struct mesh *m, size_t peer, size_t me)
{
	struct mesh_cell *to_me = mesh_at(m, peer, me), *to_peer = mesh_at(m, me, peer);
	const struct mesh_node *here = &m->nodes[me], *there = &m->nodes[peer];

	if (is_half(to_me))
		to_me->cause = there->strict_other ? CAUSE_OWN_RP_FILTER : CAUSE_WAY_BACK;
	if (is_half(to_peer) && here->strict)
		to_peer->cause = CAUSE_OWN_RP_FILTER;
	if (is_unexplained(to_me) && (here->rp_filter || here->strict))
		to_me->cause = CAUSE_RP_FILTER;
	if (is_unexplained(to_peer))
		to_peer->cause = there->strict_other ? CAUSE_RP_FILTER : CAUSE_OTHER_WAY;
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

/* A host without a way to a peer cannot answer it either. */
static void take_no_way_back(struct mesh *m, size_t me)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct mesh_cell *to = mesh_at(m, me, i);
		struct mesh_cell *from = mesh_at(m, i, me);

		if (to->row && to->bad && is_unexplained(from) &&
		    (to->cause == CAUSE_NO_ROUTE || to->cause == CAUSE_OWN_ROUTE))
			from->cause = CAUSE_NO_WAY_BACK;
	}
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
	if (pass == MESH_NODES && json_get(line, "host"))
		take_node(m, line, me, nodes, n);
	if (pass == MESH_ROWS) {
		take_row(m, line, me, nodes, n);
		take_rates(m, line, me, nodes, n);
	}
	if (pass == MESH_RULES) {
		take_rules(m, line, nodes, n);
		explain(m, json_get(line, "half"), me, nodes, n, take_half);
	}
	if (pass == MESH_REST) {
		explain(m, json_get(line, "elsewhere"), me, nodes, n, take_elsewhere);
		take_no_way_back(m, me);
		take_findings(m, line, me);
	}
}
