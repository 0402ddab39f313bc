/* The ranks' lines of JSON, taken where they are judged. None of them is trusted. */
#include "probes/port/mesh.h"

#include "lib/core/units.h"
#include "lib/report/json.h"

#include <limits.h>
#include <math.h>

_Static_assert(sizeof(struct mesh_cell) <= 88, "there are millions of them");

void mesh_init(struct mesh *m, const struct mesh_opts *o, size_t n, struct arena *a,
	       struct report *r)
{
	*m = (struct mesh){.o = o, .a = a, .report = r, .n = n};
	m->way = (struct host_way){.rsh = o->rsh, .srun = o->srun, .none = o->serve || !o->hosts.n};
	m->told = (struct tally){.a = a, .r = r, .way = &m->way, .fold = !report_wants_data(r)};
	m->nodes = arena_alloc(a, n * sizeof(*m->nodes));
	m->rows = arena_alloc(a, n * sizeof(*m->rows));
	m->blank.ms = m->blank.gbps = m->blank.resent = NAN;
}

struct mesh_cell *mesh_edit(const struct mesh *m, size_t from, size_t to)
{
	struct mesh_cell **row = &m->rows[from];

	if (!*row) {
		*row = arena_alloc(m->a, m->n * sizeof(**row));
		for (size_t i = 0; i < m->n; i++)
			(*row)[i] = m->blank;
	}
	return &(*row)[to];
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
	struct finding *f = tally_add(&m->told, 0, "mesh", "mesh.same", x->name);

	tally_of_host(&m->told, x->name);
	x->same = &m->nodes[first];
	finding_set(f, ST_ERROR,
		    "is the same machine as %s: nothing is between them, and whatever else was "
		    "meant by it was not asked",
		    streq(x->same->name ?: "", x->name) ? "another one here" : x->same->name ?: "?");
	finding_expect(f, "another machine");
	finding_fix(f, m->o->serve ? "- paste the line of --serve on each other machine, once"
				   : "- take it out of --hosts, or name the machine that is meant");
}

/* "10.0.0.0/24": 24. */
static unsigned read_prefix(const char *subnet)
{
	const char *slash = subnet ? strchr(subnet, '/') : NULL;
	uint64_t n;

	return slash && !parse_uint(slash + 1, &n) && n <= 128 ? (unsigned)n : 0;
}

static unsigned count_of(const cJSON *line, const char *key)
{
	double n = json_get_num(line, key, 0);

	return n >= 0 && n < 1e9 ? (unsigned)n : 0;
}

static void take_node(struct mesh *m, const cJSON *line, size_t at)
{
	size_t first = mesh_node_of(m, json_get(line, "same"));
	struct mesh_node *x = &m->nodes[at];
	const char *addr = json_get_str(line, "address");
	double mtu = json_get_num(line, "mtu", 0);

	if (x->asked) /* once is enough */
		return;
	x->asked = true;
	x->name = x->name ?: json_copy(m->a, line, "host") ?: "?";
	x->iface = json_copy(m->a, line, "iface");
	x->subnet = json_copy(m->a, line, "subnet");
	x->prefix = read_prefix(x->subnet);
	x->mac = json_copy(m->a, line, "mac");
	x->ecn = cJSON_IsTrue(json_get(line, "ecn"));
	x->ecn_always = x->ecn && cJSON_IsTrue(json_get(line, "ecn_always"));
	x->noarp = cJSON_IsTrue(json_get(line, "noarp"));
	x->rival = json_copy(m->a, line, "rival");
	x->leased = cJSON_IsTrue(json_get(line, "leased"));
	x->flapping = json_copy(m->a, line, "flapping");
	x->flaps = x->flapping ? count_of(line, "flaps") : 0;
	x->aside = cJSON_IsTrue(json_get(line, "aside"));
	x->carriers = count_of(line, "carriers");
	x->unlinked = json_copy(m->a, line, "unlinked");
	x->lacks = json_copy(m->a, line, "lacks");
	x->waits_port = json_copy(m->a, line, "waits_port");
	x->waits = x->waits_port ? json_copy(m->a, line, "waits") : NULL;
	x->mtu = mtu >= 0 && mtu <= UINT16_MAX + 1 ? (unsigned)mtu : 0; /* lo has 65536 */
	x->rdma = cJSON_IsTrue(json_get(line, "rdma"));
	x->rp_filter = json_copy(m->a, line, "rp_filter");
	x->rp_drops = cJSON_IsNumber(json_get(line, "rp_drops")) ? count_of(line, "rp_drops")
								 : UINT_MAX; /* not counted */
	x->twin = json_copy(m->a, line, "twin");
	x->astray = json_copy(m->a, line, "astray");
	x->told = json_copy(m->a, line, "told");
	x->strict = cJSON_IsTrue(json_get(line, "strict"));
	x->strict_other = json_copy(m->a, line, "strict_other");
	x->rules_known = cJSON_IsTrue(json_get(line, "rules_known"));
	x->rules_trouble = json_copy(m->a, line, "rules_trouble");
	x->rules_fix = json_copy(m->a, line, "rules_fix");
	x->as_root = json_copy(m->a, line, "as_root");
	read_ports(m, json_get(line, "ports"), x);
	if (!addr || addr_parse(addr, &x->addr))
		x->addr = (union addr){0};
	if (first < at)
		take_same(m, first, x);
}

static void read_cell(struct mesh *m, size_t from, size_t to, const char *row)
{
	struct mesh_cell *c = mesh_edit(m, from, to);
	const struct mesh_node *x = &m->nodes[to];
	size_t n = x->ports.n;
	int state, cause;

	if (c->row) /* once is enough */
		return;
	c->row = row = mesh_row_unfold(m->a, row, n, &c->ms);
	for (size_t i = 0; row && i < n; i++) {
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
	c->cut = talk == 'x' || talk == 'y';
	c->talked = talk == '+';
	if (cJSON_IsNumber(mtu) && mtu->valuedouble >= 0 && mtu->valuedouble <= UINT16_MAX)
		c->path_mtu = (uint16_t)mtu->valuedouble;
	if (c->cut && !c->bad)
		c->cause = talk == 'y' ? CAUSE_TRICKLE : c->path_mtu ? CAUSE_BULK : CAUSE_NO_BULK;
}

static const cJSON *first_of(const cJSON *list) { return list ? list->child : NULL; }
static const cJSON *next_of(const cJSON *item) { return item ? item->next : NULL; }

static void take_row(struct mesh *m, const cJSON *line, size_t from)
{
	const char *talks = json_text(line, "talks");
	const cJSON *row = first_of(json_get(line, "row")), *mtu = first_of(json_get(line, "mtus"));
	const cJSON *late = first_of(json_get(line, "late"));
	const cJSON *crawl = first_of(json_get(line, "crawl"));

	for (size_t i = 0; i < m->nranks; i++, row = next_of(row), mtu = next_of(mtu),
		    late = next_of(late), crawl = next_of(crawl)) {
		size_t to = m->rank_node[i];
		char talk = i < strlen(talks) ? talks[i] : '.';

		if (to == MESH_NO_NODE || to == from || !cJSON_IsString(row))
			continue;
		read_cell(m, from, to, row->valuestring);
		read_talk(mesh_edit(m, from, to), talk, mtu);
		if (cJSON_IsNumber(late) && late->valuedouble >= 0 && late->valuedouble < 1000)
			mesh_edit(m, from, to)->late = (uint16_t)late->valuedouble;
		if (cJSON_IsNumber(crawl) && crawl->valuedouble > 0)
			mesh_edit(m, from, to)->crawl_mbps = (float)crawl->valuedouble;
	}
}

static void take_rates(struct mesh *m, const cJSON *line, size_t from)
{
	const cJSON *gbps = first_of(json_get(line, "gbps"));
	const cJSON *resent = first_of(json_get(line, "resent"));

	for (size_t i = 0; i < m->nranks; i++, gbps = next_of(gbps), resent = next_of(resent)) {
		size_t to = m->rank_node[i];

		if (to == MESH_NO_NODE || to == from)
			continue;
		if (cJSON_IsNumber(gbps))
			mesh_edit(m, from, to)->gbps = (float)gbps->valuedouble;
		if (cJSON_IsNumber(resent))
			mesh_edit(m, from, to)->resent = (float)resent->valuedouble;
	}
}

/* What a rank says without a subject is about its host. */
static void take_findings(struct mesh *m, const cJSON *line, size_t me)
{
	const cJSON *list = json_get(line, "findings");
	item_list *all = &m->told.items;

	for (const cJSON *i = list ? list->child : NULL; i; i = i->next) {
		size_t had = all->n;

		if (!streq(json_text(i, "status"), "warn"))
			continue;
		tally_take(&m->told, 0, "mesh", m->nodes[me].name, i);
		if (all->n > had && !all->v[had].f->subject)
			all->v[had].f->subject = all->v[had].f->host;
	}
}

void mesh_take(struct mesh *m, enum mesh_pass pass, const cJSON *line)
{
	size_t me = mesh_node_of(m, json_get(line, "rank"));

	if (me == MESH_NO_NODE)
		return;
	if (pass == MESH_NODES && json_get(line, "host"))
		take_node(m, line, me);
	if (pass == MESH_ROWS) {
		m->nodes[me].gone |= cJSON_IsTrue(json_get(line, "gone"));
		take_row(m, line, me);
		take_rates(m, line, me);
		mesh_take_idle(m, line, me);
	}
	if (pass == MESH_RULES)
		mesh_explain_rules(m, line, me);
	if (pass == MESH_WAYS)
		mesh_explain_ways(m, line, me);
	if (pass == MESH_REST) {
		mesh_explain_rest(m, me);
		take_findings(m, line, me);
	}
}
