/*
 * Where everything is reached in the end, and yet packets get lost, or crawl. A question that had
 * to be asked again is a second late: one alone is an accident; several that have one host in
 * common are its. A link on which so many are lost, or bulk takes so long, is no use for training.
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

static bool has_end(const struct mesh *m, size_t cell, size_t at)
{
	return at == m->n || cell / m->n == at || cell % m->n == at;
}

static struct finding *say(struct mesh *m, const char *check, size_t at)
{
	struct finding *f = tally_add(&m->told, 0, "mesh", check,
				      at < m->n ? m->nodes[at].name : "between hosts");

	if (at < m->n)
		tally_of_host(&m->told, m->nodes[at].name);
	finding_fix(f, MESH_LOOK_AT_CARD, card(m, at), card(m, at), name(m, at));
	return f;
}

/* ---- lost ---- */
/* All answers that were late, or (@at a node) those with it at one end. */
static size_t late_at(const struct mesh *m, size_t at, index_list *ret_others)
{
	size_t late = 0;

	for (size_t i = 0; i < m->n * m->n; i++) {
		size_t from = i / m->n, to = i % m->n, other = from == at ? to : from;

		if (!m->cells[i].late || !has_end(m, i, at))
			continue;
		late += m->cells[i].late;
		if (at < m->n && (!ret_others->n || ret_others->v[ret_others->n - 1] != other))
			*LIST_ADD(m->a, ret_others) = other;
	}
	return late;
}

static size_t asked_at(const struct mesh *m, size_t at)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n * m->n; i++)
		if (m->cells[i].row && has_end(m, i, at))
			n += m->nodes[i % m->n].ports.n;
	return n;
}

/* The end that nearly all of them have in common, with more than one other host; m->n: none. */
static size_t culprit(const struct mesh *m, size_t all)
{
	for (size_t i = 0; i < m->n; i++) {
		index_list others = {0};

		if (m->n > 2 && 4 * late_at(m, i, &others) >= 3 * all && others.n > 1)
			return i;
	}
	return m->n;
}

/* What stalled there, or was not answered once, met the same. */
static void settle(struct mesh *m, size_t at)
{
	for (size_t i = 0; i < m->n * m->n; i++) {
		struct mesh_cell *c = &m->cells[i];
		bool part = c->cause == CAUSE_DROPPED && c->bad < m->nodes[i % m->n].ports.n;

		if (has_end(m, i, at) && mesh_cell_is_bad(c) && !c->rule &&
		    (part || mesh_is_bulk((enum port_cause)c->cause)))
			c->cause = CAUSE_LINK;
	}
}

/* The host that loses most of what is lost, or m->n, into @ret_at. False: nothing to speak of. */
static bool judge_late(struct mesh *m, size_t *ret_at)
{
	index_list ignored = {0};
	size_t all = late_at(m, m->n, &ignored), late, asked;
	struct finding *f;
	bool grave;

	if (all < LEAST_LATE)
		return false;
	*ret_at = culprit(m, all);
	late = late_at(m, *ret_at, &ignored);
	asked = asked_at(m, *ret_at);
	grave = late >= GRAVE_LATE && late * GRAVE_PART >= asked;
	f = say(m, "mesh.loss", *ret_at);
	finding_set(f, grave ? ST_FAIL : ST_WARN,
		    "%zu of %zu questions%s were answered only when they were asked again, a "
		    "second later: packets get lost%s",
		    late, asked, *ret_at < m->n ? " to it or from it" : "",
		    *ret_at < m->n ? " there" : ", at no one host more than elsewhere");
	finding_expect(f, "none");
	if (grave)
		settle(m, *ret_at);
	return true;
}

/* ---- slow ---- */
static bool is_trickle(const struct mesh_cell *c) { return c->cut && c->cause == CAUSE_TRICKLE; }

/* On a link that hardly lets anything through, some of it is not even begun. */
static void spread_trickle(struct mesh *m)
{
	bool *slow = arena_alloc(m->a, m->n);

	for (size_t i = 0; i < m->n * m->n; i++)
		if (is_trickle(&m->cells[i]) || m->cells[i].crawl_mbps > 0)
			slow[i / m->n] = slow[i % m->n] = true;
	for (size_t i = 0; i < m->n * m->n; i++) {
		struct mesh_cell *c = &m->cells[i];

		if (c->cut && c->cause == CAUSE_BULK && !c->path_mtu &&
		    (slow[i / m->n] || slow[i % m->n]))
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

static void say_crawl(struct mesh *m, size_t at, const char *what, float mbps)
{
	struct finding *f = say(m, "mesh.bandwidth", at);

	finding_set(f, ST_FAIL, "%s only %.2g Mbit/s", what, (double)mbps);
	finding_expect(f, "far more than %.0f Mbit/s", (double)LEAST_MBPS);
}

/* Of two hosts either may be the slow one. */
static void judge_crawl(struct mesh *m, size_t lossy)
{
	for (size_t i = 0; i < m->n; i++) {
		float out = crawl_of(m, i, false), in = crawl_of(m, i, true);

		if (i == lossy || (!(out > 0) && !(in > 0)))
			continue;
		if (m->n == 2) {
			say_crawl(m, m->n, "bulk data gets", out > 0 ? out : in);
			settle(m, m->n);
			return;
		}
		say_crawl(m, i,
			  out > 0 && in > 0 ? "sends and receives"
			  : out > 0	    ? "sends"
					    : "receives",
			  out > 0 && (out < in || !(in > 0)) ? out : in);
		settle(m, i);
	}
}

void mesh_loss(struct mesh *m)
{
	size_t lossy = SIZE_MAX;

	spread_trickle(m);
	if (!judge_late(m, &lossy) || lossy < m->n)
		judge_crawl(m, lossy);
}
