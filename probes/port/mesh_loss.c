/*
 * Where everything is reached in the end, and yet packets get lost, or crawl. A question that had
 * to be asked again is a second late: one alone is an accident; several that have one host in
 * common are its. A link on which so many are lost is no use for training, nor is one host to
 * which bulk takes long where the others are fast. Where all are slow, or the two that there are,
 * that may be what there is between them: it is a warning.
 */
#include "probes/port/mesh_judge.h"

enum { LEAST_LATE = 3, GRAVE_LATE = 5, GRAVE_PART = 10 };
static const float LEAST_MBPS = 10; /* the slowest Ethernet */

static const char *card(const struct mesh *m, size_t at)
{
	return at < m->n && m->nodes[at].iface ? m->nodes[at].iface : "IFACE";
}

static const char *name(const struct mesh *m, size_t at)
{
	return at < m->n ? m->nodes[at].name : "each";
}

/* @ecn: it may be that what uses ECN is dropped, and sent again without. */
static struct finding *say(struct mesh *m, const char *check, size_t at, bool ecn)
{
	struct finding *f = tally_add(&m->told, 0, "mesh", check,
				      at < m->n ? m->nodes[at].name : "between hosts");

	if (at < m->n)
		tally_of_host(&m->told, m->nodes[at].name);
	if (ecn)
		finding_fix(f, MESH_NO_ECN "   # on %s: is it fast then?", name(m, at));
	finding_fix(f, MESH_LOOK_AT_CARD, card(m, at), card(m, at), name(m, at));
	return f;
}

/* ---- lost ---- */
/* The ways that have @at at one end, from it and to it; m->n: all ways. */
static size_t ways_at(const struct mesh *m, size_t at) { return m->n * (at < m->n ? 2 : m->n); }

static struct way {
	size_t from, to;
} way(const struct mesh *m, size_t at, size_t k)
{
	if (at == m->n)
		return (struct way){k / m->n, k % m->n};
	return k < m->n ? (struct way){at, k} : (struct way){k - m->n, at};
}

/* All answers that were late, or (@at a node) those with it at one end. */
static size_t late_at(const struct mesh *m, size_t at)
{
	size_t late = 0;

	for (size_t k = 0; k < ways_at(m, at); k++) {
		struct way w = way(m, at, k);

		late += mesh_at(m, w.from, w.to)->late;
	}
	return late;
}

static size_t asked_at(const struct mesh *m, size_t at)
{
	size_t n = 0;

	for (size_t k = 0; k < ways_at(m, at); k++) {
		struct way w = way(m, at, k);

		n += mesh_at(m, w.from, w.to)->row ? m->nodes[w.to].ports.n : 0;
	}
	return n;
}

/* The end that nearly all of them have in common, with more than one other host; m->n: none. */
static size_t culprit(const struct mesh *m, size_t all)
{
	for (size_t i = 0; i < m->n && m->n > 2; i++) {
		size_t others = 0;

		if (4 * late_at(m, i) < 3 * all)
			continue;
		for (size_t k = 0; k < m->n; k++)
			others += mesh_at(m, i, k)->late || mesh_at(m, k, i)->late;
		if (others > 1)
			return i;
	}
	return m->n;
}

/* What stalled there, or was not answered once, met the same. False: there was no such thing. */
static bool settle(struct mesh *m, size_t at)
{
	bool any = false;

	for (size_t k = 0; k < ways_at(m, at); k++) {
		struct way w = way(m, at, k);
		const struct mesh_cell *c = mesh_at(m, w.from, w.to);
		bool part = c->cause == CAUSE_DROPPED && c->bad < m->nodes[w.to].ports.n;

		if (mesh_cell_is_bad(c) && !c->rule &&
		    (part || mesh_is_bulk((enum port_cause)c->cause))) {
			mesh_edit(m, w.from, w.to)->cause = CAUSE_LINK;
			any = true;
		}
	}
	return any;
}

/* All that was asked there had to be asked again, once: no more than the first packets were lost.
 */
static void say_waited(const struct mesh *m)
{
	struct way one = {0};
	struct finding *f;
	size_t n = 0;

	MESH_EACH (m, from, to)
		if (mesh_at(m, from, to)->late && mesh_at(m, from, to)->ms >= PORT_LATE_MS) {
			one = (struct way){from, to};
			n++;
		}
	if (!n)
		return;
	f = report_find(m->report, "mesh.first",
			n > 1 ? mesh_pairs(m, n)
			      : arena_printf(m->a, "%s to %s", m->nodes[one.from].name,
					     m->nodes[one.to].name));
	finding_set(f, ST_INFO,
		    "answered only when all was asked again, a second later: a rule that limits "
		    "new connections, or a tunnel that begins with the first packet");
	report_add(m->report, f);
}

/* The host that loses most of what is lost, or m->n, into @ret_at. False: nothing to speak of. */
static bool judge_late(struct mesh *m, size_t *ret_at)
{
	size_t all = late_at(m, m->n), late, asked;
	struct finding *f;
	bool grave;

	if (all < LEAST_LATE) {
		say_waited(m);
		return false;
	}
	*ret_at = culprit(m, all);
	late = late_at(m, *ret_at);
	asked = asked_at(m, *ret_at);
	grave = late >= GRAVE_LATE && late * GRAVE_PART >= asked;
	f = say(m, "mesh.loss", *ret_at, false);
	finding_set(f, grave ? ST_FAIL : ST_WARN,
		    "%zu of %zu questions%s were answered only when they were asked again, a "
		    "second later: packets get lost%s",
		    late, asked, *ret_at < m->n ? " to it or from it" : "",
		    *ret_at < m->n ? " there" : ", at no one host more than elsewhere");
	finding_expect(f, "none");
	if (grave)
		(void)settle(m, *ret_at);
	return true;
}

/* ---- slow ---- */
static bool is_trickle(const struct mesh_cell *c) { return c->cut && c->cause == CAUSE_TRICKLE; }

/* On a link that hardly lets anything through, some of it is not even begun. */
static void spread_trickle(struct mesh *m)
{
	bool *slow = arena_alloc(m->a, m->n);

	MESH_EACH (m, from, to)
		if (is_trickle(mesh_at(m, from, to)) || mesh_at(m, from, to)->crawl_mbps > 0)
			slow[from] = slow[to] = true;
	MESH_EACH (m, from, to) {
		struct mesh_cell *c = mesh_edit(m, from, to);

		if (c->cut && c->cause == CAUSE_NO_BULK && (slow[from] || slow[to]))
			c->cause = CAUSE_TRICKLE;
	}
}

/* What a host sends to all others, or gets from them, at a time. 0: nearly all is fast. */
static float crawl_of(const struct mesh *m, size_t host, bool in)
{
	size_t all = 0, slow = 0;
	float sum = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct mesh_cell *c = in ? mesh_at(m, i, host) : mesh_at(m, host, i);

		all += c->talked || c->cut;
		slow += c->crawl_mbps > 0 || is_trickle(c);
		sum += c->crawl_mbps;
	}
	return slow * 4 >= all * 3 && sum < LEAST_MBPS ? sum : 0;
}

static void say_crawl(struct mesh *m, size_t at, const char *what, float mbps, bool alone)
{
	bool stalls = settle(m, at);
	bool ecn = at < m->n && m->nodes[at].ecn;
	struct finding *f = say(m, "mesh.bandwidth", at, ecn);

	finding_set(f, alone || stalls ? ST_FAIL : ST_WARN, "%s only %.2g Mbit/s%s", what,
		    (double)mbps,
		    ecn ? "; it asks for ECN (net.ipv4.tcp_ecn), and something on the way may drop "
			  "what is marked so"
			: "");
	finding_expect(f, "far more than %.0f Mbit/s", (double)LEAST_MBPS);
}

/* Of two hosts either may be the slow one. */
static void judge_crawl(struct mesh *m, size_t lossy)
{
	float *out = arena_alloc(m->a, m->n * sizeof(*out)), *in, worst;
	size_t slow = 0;

	in = arena_alloc(m->a, m->n * sizeof(*in));
	for (size_t i = 0; i < m->n; i++) {
		out[i] = crawl_of(m, i, false);
		in[i] = crawl_of(m, i, true);
		slow += out[i] > 0 || in[i] > 0;
	}
	for (size_t i = 0; i < m->n; i++) {
		worst = out[i] > 0 && (out[i] < in[i] || !(in[i] > 0)) ? out[i] : in[i];
		if (i == lossy || !(worst > 0))
			continue;
		if (m->n == 2) {
			say_crawl(m, m->n, "bulk data gets", out[i] > 0 ? out[i] : in[i], false);
			return;
		}
		say_crawl(m, i,
			  out[i] > 0 && in[i] > 0 ? "sends and receives"
			  : out[i] > 0		  ? "sends"
						  : "receives",
			  worst, slow * 2 < m->n);
	}
}

void mesh_loss(struct mesh *m)
{
	size_t lossy = SIZE_MAX;

	mesh_ecn(m);
	spread_trickle(m);
	if (!judge_late(m, &lossy) || lossy < m->n)
		judge_crawl(m, lossy);
}
