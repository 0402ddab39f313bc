/* What is not about ports: hosts without an address, rates that fall behind, fabrics that were not
 * tested, and the sum of the whole. */
#include "probes/port/mesh_judge.h"

#include "lib/cluster/typed_way.h"
#include "lib/core/stats.h"
#include "lib/core/text.h"
#include "lib/report/json.h"
#include "probes/tally/names.h"

#include <math.h>

enum { MOST_SLOW = 8 };

const char *mesh_folded(const struct mesh *m, const size_t *v, size_t n)
{
	host_list l = {0};

	for (size_t i = 0; i < n; i++)
		LIST_ADD(m->a, &l)->name = m->nodes[v[i]].name;
	return hostlist_fold(m->a, &l);
}

static bool lacks_address(const struct mesh_node *x)
{
	return x->asked && !x->same && !x->addr.sa.sa_family;
}

/* Where all of them lack the same, and that is a card that is down. */
static void set_up(const struct mesh *m, const index_list *v, struct finding *f)
{
	const char *why = m->nodes[v->v[0]].lacks, *down = why ? strstr(why, ": down") : NULL;
	str_list command = {0};

	for (size_t i = 1; down && i < v->n; i++)
		if (!streq(m->nodes[v->v[i]].lacks ?: "", why))
			return;
	if (!down || down[strlen(": down")])
		return;
	*LIST_ADD(m->a, &command) =
		arena_printf(m->a, "sudo ip link set %.*s up", (int)(down - why), why);
	mesh_type(m, v, &command, NULL, f);
}

static struct finding *say_address(const struct mesh *m, const index_list *v)
{
	const char *who = mesh_names_of(m, v);
	struct finding *f = report_find(m->report, "mesh.address", who);

	finding_expect(f, "an interface that is up, with an address");
	set_up(m, v, f);
	finding_fix(f, "ifprobe   # on %s: shows what each interface lacks", who);
	return f;
}

/* An address on a card without a link is one that nobody can use. */
static void judge_addresses(const struct mesh *m)
{
	index_list v = {0};
	const char *why;
	struct finding *f;

	for (size_t i = 0; i < m->n; i++) {
		const struct mesh_node *x = &m->nodes[i];

		if (!lacks_address(x) || x->flaps || x->waits) /* which says it */
			continue;
		*LIST_ADD(m->a, &v) = i;
		if (!x->unlinked)
			continue;
		f = say_address(m, &(const index_list){.v = &v.v[--v.n], .n = 1});
		finding_set(f, ST_FAIL,
			    "its card %s has an address and no link, which was lost or found %u "
			    "time%s since it was started: nothing is connected to it, or what is "
			    "there is off, or it comes and goes",
			    x->unlinked, x->carriers, x->carriers == 1 ? "" : "s");
		finding_fix(f,
			    "cat /sys/class/net/%s/carrier_changes   # on %s, twice: a number that "
			    "grows is a link that comes and goes",
			    x->unlinked, x->name);
		report_add(m->report, f);
	}
	if (!v.n)
		return;
	f = say_address(m, &v);
	why = m->nodes[v.v[0]].lacks;
	finding_set(f, ST_FAIL, "%s no address that the others could use%s%s%s",
		    v.n == 1 ? "has" : "have", why ? " (" : "", why ?: "", why ? ")" : "");
	report_add(m->report, f);
}

const char *mesh_pairs(const struct mesh *m, size_t n)
{
	return arena_printf(m->a, "%zu pair%s", n, n == 1 ? "" : "s");
}

/* --- rates ----------------------------------------------------------------------------- */
static bool has_rate(const struct mesh *m, size_t from, size_t to)
{
	return isfinite(mesh_at(m, from, to)->gbps);
}

/* Which @part of them is below it: 0.5 is the median. */
static float quantile(const struct mesh *m, float (*of)(const struct mesh_cell *c), double part,
		      size_t *ret_n)
{
	size_t rows = 0;
	float *v;

	for (size_t i = 0; i < m->n; i++)
		rows += m->rows[i] != NULL;
	v = arena_alloc(m->a, (rows * m->n + 1) * sizeof(*v));
	*ret_n = 0;
	MESH_EACH (m, from, to)
		if (isfinite(of(mesh_at(m, from, to))))
			v[(*ret_n)++] = of(mesh_at(m, from, to));
	sort_floats(v, *ret_n);
	return *ret_n ? v[(size_t)((double)*ret_n * part)] : NAN;
}

static float rate_of(const struct mesh_cell *c) { return c->gbps; }

/* Is @host slow to (@in: from) nearly everybody? Then it is to blame, not the others. */
static bool is_slow(const struct mesh *m, size_t host, bool in, float limit)
{
	size_t slow = 0, all = 0;

	for (size_t i = 0; i < m->n; i++) {
		size_t from = in ? i : host, to = in ? host : i;

		if (!has_rate(m, from, to))
			continue;
		all++;
		slow += mesh_at(m, from, to)->gbps < limit;
	}
	return all && slow * 4 >= all * 3;
}

static void say_slow(const struct mesh *m, const char *subject, const char *what, float gbps,
		     const char *more, float usual)
{
	struct finding *f = report_find(m->report, "mesh.bandwidth", subject);

	finding_set(f, ST_WARN, "%s %.3g Gb/s%s", what, (double)gbps, more);
	finding_expect(f, "about %.3g Gb/s, as the fastest", (double)usual);
	finding_value(f, thousandths(gbps), "Gb/s");
	finding_fix(f, "ethtool IFACE; ip -s link   # on %s: speed, duplex, errors and drops",
		    subject);
	report_add(m->report, f);
}

static float worst_of(const struct mesh *m, size_t host, bool in)
{
	float worst = INFINITY;

	for (size_t i = 0; i < m->n; i++) {
		size_t from = in ? i : host, to = in ? host : i;

		if (has_rate(m, from, to) && mesh_at(m, from, to)->gbps < worst)
			worst = mesh_at(m, from, to)->gbps;
	}
	return worst;
}

/* How many lines it said, and whether one is about a host. */
static size_t judge_slow(const struct mesh *m, float usual, bool *ret_host)
{
	bool *bad[2] = {arena_alloc(m->a, m->n), arena_alloc(m->a, m->n)};
	size_t said = 0;

	for (size_t i = 0; i < 2 * m->n && m->n > 2; i++) {
		bool in = i >= m->n;
		size_t host = i % m->n;

		bad[in][host] = is_slow(m, host, in, usual / 2);
		if (!bad[in][host] || said++ >= MOST_SLOW)
			continue;
		say_slow(m, m->nodes[host].name, in ? "receives only" : "sends only",
			 worst_of(m, host, in), mesh_resent_of(m, host, in), usual);
	}
	*ret_host = said > 0;
	MESH_EACH (m, from, to) {
		const struct mesh_cell *c = mesh_at(m, from, to);

		if (!has_rate(m, from, to) || c->gbps >= usual / 2 || bad[0][from] || bad[1][to] ||
		    said++ >= MOST_SLOW)
			continue;
		say_slow(m, arena_printf(m->a, "%s to %s", m->nodes[from].name, m->nodes[to].name),
			 "only", c->gbps, mesh_resent_between(m, c), usual);
	}
	return said;
}

static void judge_rates(const struct mesh *m)
{
	/* A slow host of three is in four pairs of six: the middle is its own. */
	const double best = 0.9;
	struct finding *f;
	size_t n, slow;
	bool host;
	float can = quantile(m, rate_of, best, &n), usual = quantile(m, rate_of, 0.5, &n);

	if (!n)
		return;
	slow = judge_slow(m, can, &host);
	if ((!host && mesh_resent(m)) || slow)
		return;
	f = report_find(m->report, "mesh.bandwidth", mesh_pairs(m, n));
	finding_set(f, ST_PASS,
		    "one at a time, median %.3g Gb/s, none below half of what the fastest reach",
		    (double)usual);
	finding_value(f, thousandths(usual), "Gb/s");
	report_add(m->report, f);
}

/* --- the sum -------------------------------------------------------------------------- */
static void judge_rdma(const struct mesh *m)
{
	size_t *v = arena_alloc(m->a, m->n * sizeof(*v)), n = 0;
	struct finding *f;

	for (size_t i = 0; i < m->n; i++)
		if (m->nodes[i].rdma)
			v[n++] = i;
	if (!n)
		return;
	f = report_find(m->report, "mesh.rdma", mesh_folded(m, v, n));
	finding_set(f, ST_INFO,
		    "RDMA or EFA devices here: TCP between nodes says nothing about that fabric");
	report_add(m->report, f);
}

static float ms_of(const struct mesh_cell *c) { return c->row ? c->ms : NAN; }

static const char *ms_text(const struct mesh *m, float ms)
{
	return arena_printf(m->a, ms < 1000 ? "%.3g ms" : "%.0f ms", (double)ms);
}

static const char *slowest(const struct mesh *m)
{
	size_t asker = 0, asked = 0;
	float most = NAN;

	MESH_EACH (m, from, to) {
		float ms = ms_of(mesh_at(m, from, to));

		if (!isfinite(ms) || most >= ms)
			continue;
		most = ms;
		asker = from;
		asked = to;
	}
	return arena_printf(m->a, "%s (%s to %s)", ms_text(m, most), m->nodes[asker].name,
			    m->nodes[asked].name);
}

/* However healthy each one is by itself: what was asked is what is between them. */
static void say_nothing(const struct mesh *m, size_t pairs)
{
	struct finding *f = report_find(m->report, "mesh.reach", mesh_pairs(m, pairs));

	finding_set(f, ST_ERROR, "%s",
		    m->n == 1 ? "one host is no pair: nothing between hosts was tested"
			      : "no pair was tested");
	finding_expect(f, "an answer between two hosts at least");
	if (m->n == 1)
		finding_fix(f, "%s   # at least two machines",
			    typed_for(m->a, "portcheck", m->way.rsh,
				      arena_printf(m->a, "%s,OTHER", m->nodes[0].name)));
	report_add(m->report, f);
}

/* By which all were asked: " through eth0 (10.77.0.0/16)". */
static const char *networks(const struct mesh *m)
{
	enum { MOST = 3 };
	const char *iface = NULL;
	struct names nets = {0};
	bool alike = true;
	struct text t;

	text_init(&t, m->a);
	for (size_t i = 0; i < m->n && nets.n <= MOST; i++) {
		const struct mesh_node *x = &m->nodes[i];

		if (!x->subnet || !x->iface)
			continue;
		alike = alike && streq(iface ?: x->iface, x->iface);
		iface = x->iface;
		if (names_has(&nets, x->subnet))
			continue;
		text_addf(&t, "%s%s", nets.n ? ", " : "", x->subnet);
		names_add(&nets, m->a, x->subnet);
	}
	if (!nets.n || nets.n > MOST)
		return "";
	return alike ? arena_printf(m->a, " through %s (%s)", iface, t.s)
		     : arena_printf(m->a, " through %s", t.s);
}

static size_t known_pairs(const struct mesh *m)
{
	size_t n = 0;

	MESH_EACH (m, from, to)
		n += mesh_at(m, from, to)->row != NULL;
	return n;
}

static void sum_up(const struct mesh *m)
{
	size_t good = 0, known = known_pairs(m), bulk = 0, timed, pairs = m->n * (m->n - 1);
	float usual = quantile(m, ms_of, 0.5, &timed);
	struct finding *f;

	MESH_EACH (m, from, to) {
		const struct mesh_cell *c = mesh_at(m, from, to);

		good += c->row && !mesh_cell_is_bad(c);
		bulk += c->row && !c->cut && c->path_mtu;
	}
	if (good && timed) {
		f = report_find(m->report, "mesh.reach", mesh_pairs(m, good));
		finding_set(f, ST_PASS, "reach each other on every port%s, median %s, slowest %s",
			    networks(m), ms_text(m, usual), slowest(m));
		finding_value(f, thousandths(usual), "ms");
		report_add(m->report, f);
	}
	if (!known)
		say_nothing(m, pairs);
	report_covers(m->report, "%zu of %zu ordered pairs of %zu host%s, TCP%s", known, pairs,
		      m->n, m->n == 1 ? "" : "s",
		      known && bulk == known ? " with bulk data"
		      : bulk		     ? arena_printf(m->a, ", %zu with bulk data", bulk)
					     : "");
}

void mesh_sum(const struct mesh *m)
{
	judge_addresses(m);
	mesh_mtu(m);
	judge_rates(m);
	judge_rdma(m);
	sum_up(m);
}

void mesh_conclude(struct mesh *m)
{
	mesh_view(m, report_width(m->report));
	mesh_link(m);
	mesh_loss(m);
	tally_emit(&m->told);
	mesh_judge(m);
	mesh_idle(m);
	mesh_sum(m);
	if (report_wants_data(m->report))
		mesh_data(m, report_data(m->report));
	if (report_wants_pairs(m->report, known_pairs(m)))
		mesh_data_pairs(m, report_data(m->report));
}
