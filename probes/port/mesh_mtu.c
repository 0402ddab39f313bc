/* Hosts whose MTU is not the others', and paths that are narrower than their ends. */
#include "probes/port/mesh_judge.h"

#include "lib/core/fix.h"

static const char *with_mtu(const struct mesh *m, unsigned mtu)
{
	size_t *v = arena_alloc(m->a, m->n * sizeof(*v)), n = 0;

	for (size_t i = 0; i < m->n; i++)
		if (m->nodes[i].mtu == mtu)
			v[n++] = i;
	return mesh_folded(m, v, n);
}

/* What most have; of as many the larger. 0: nobody's is known. */
static unsigned usual_mtu(const struct mesh *m)
{
	size_t most = 0;
	unsigned usual = 0;

	for (size_t i = 0; i < m->n; i++) {
		unsigned mtu = m->nodes[i].mtu;
		size_t n = 0;

		for (size_t k = 0; k < m->n; k++)
			n += m->nodes[k].mtu == mtu;
		if (mtu && (n > most || (n == most && mtu > usual))) {
			most = n;
			usual = mtu;
		}
	}
	return usual;
}

/* Whoever has the smaller one may have it because the network takes no more there: what shows it,
 * and what is right then. */
static void prove_mtu(const struct mesh *m, unsigned odd, unsigned usual, struct finding *f)
{
	enum { V4_HEADERS = 20 + 8, V6_HEADERS = 40 + 8 };
	const struct mesh_node *at = NULL, *peer = NULL;
	struct addr_text t;
	bool v6;

	for (size_t i = 0; i < m->n; i++) {
		at = at ?: m->nodes[i].mtu == odd ? &m->nodes[i] : NULL;
		peer = peer ?: m->nodes[i].mtu == usual ? &m->nodes[i] : NULL;
	}
	if (!at || !peer || !peer->addr.sa.sa_family)
		return;
	v6 = peer->addr.sa.sa_family == AF_INET6;
	finding_fix(f, "ping -c 1 -M do -s %u %s   # on %s, then: no answer: it does not take it",
		    usual - (v6 ? V6_HEADERS : V4_HEADERS), addr_print(&peer->addr, &t), at->name);
	finding_fix(f, FIX_WORDS "where it does not: MTU %u on %s, too", odd, with_mtu(m, usual));
}

/* Names of interfaces differ between hosts: a command for each. */
static void fix_mtu(const struct mesh *m, unsigned odd, unsigned usual, struct finding *f)
{
	bool *had = arena_alloc(m->a, m->n * sizeof(*had));

	for (size_t i = 0; i < m->n; i++) {
		const char *iface = m->nodes[i].iface ?: "IFACE";
		str_list command = {0};
		index_list v = {0};

		if (had[i] || m->nodes[i].mtu != odd)
			continue;
		for (size_t k = i; k < m->n; k++)
			if (m->nodes[k].mtu == odd && streq(m->nodes[k].iface ?: "IFACE", iface)) {
				had[k] = true;
				*LIST_ADD(m->a, &v) = k;
			}
		*LIST_ADD(m->a, &command) =
			arena_printf(m->a, "sudo ip link set dev %s mtu %u", iface, usual);
		mesh_type(m, &v, &command, usual > odd ? "the network takes it" : NULL, f);
	}
	if (usual > odd)
		prove_mtu(m, odd, usual, f);
}

static void say_mtu(const struct mesh *m, unsigned odd, unsigned usual)
{
	struct finding *f = report_find(m->report, "mesh.mtu", with_mtu(m, odd));

	finding_set(f, ST_WARN,
		    "has MTU %u and %s has %u: TCP agrees on the smaller, what is not TCP (UDP, "
		    "RoCE) loses packets",
		    odd, with_mtu(m, usual), usual);
	finding_expect(f, "the same everywhere");
	fix_mtu(m, odd, usual, f);
	report_add(m->report, f);
}

static void judge_mtu(const struct mesh *m)
{
	unsigned usual = usual_mtu(m);

	for (size_t i = 0; i < m->n; i++) {
		unsigned odd = m->nodes[i].mtu;
		bool said = !odd || odd == usual;

		for (size_t k = 0; k < i && !said; k++)
			said = m->nodes[k].mtu == odd;
		if (!said)
			say_mtu(m, odd, usual);
	}
}

/* A path that is narrower than its ends, and says so, costs a little and breaks nothing. */
static void judge_path(const struct mesh *m)
{
	struct finding *f;

	MESH_EACH (m, from, to) {
		const struct mesh_cell *c = mesh_at(m, from, to);
		const struct mesh_node *x = &m->nodes[from], *y = &m->nodes[to];
		unsigned ends = x->mtu < y->mtu ? x->mtu : y->mtu;

		if (!c->row || c->cut || !c->path_mtu || c->path_mtu >= ends)
			continue;
		f = report_find(m->report, "mesh.mtu",
				arena_printf(m->a, "%s to %s", x->name, y->name));
		finding_set(f, ST_INFO,
			    "the path takes %u bytes where both ends have %u: it says so, "
			    "and bulk passes",
			    c->path_mtu, ends);
		report_add(m->report, f);
		return;
	}
}

void mesh_mtu(const struct mesh *m)
{
	judge_mtu(m);
	judge_path(m);
}
