/*
 * Hosts that ask for ECN (net.ipv4.tcp_ecn), and something on the way that drops what does. The
 * kernel gives up asking for it with its second try, a second later, so that all is answered, and
 * all of it late.
 */
#include "probes/port/mesh_judge.h"

#include <math.h>

enum { LEAST_LATE = 2 };

index_list mesh_ecn_always(const struct mesh *m, const index_list *l)
{
	index_list ret = {0};

	for (size_t i = 0; i < l->n; i++)
		if (m->nodes[l->v[i]].ecn_always)
			*LIST_ADD(m->a, &ret) = l->v[i];
	return ret;
}

/* Of how many hosts it heard, and of each only when it had asked again. 0: not of all so. */
static size_t all_late(const struct mesh *m, size_t from)
{
	const float again_ms = 900;
	size_t late = 0, heard = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct mesh_cell *c = mesh_at(m, from, i);

		heard += c->row && isfinite(c->ms);
		late += c->row && c->late && c->ms >= again_ms;
	}
	return late == heard ? late : 0;
}

static struct finding *say(struct mesh *m, const index_list *hosts)
{
	const char *who = mesh_names_of(m, hosts);
	struct finding *f = tally_add(&m->told, 0, "mesh", "mesh.ecn", who);
	const str_list command = {.v = (const char *[]){MESH_NO_ECN}, .n = 1};

	if (hosts->n == 1)
		tally_of_host(&m->told, who);
	finding_expect(f, "ECN passes, or nobody asks for it");
	mesh_type(m, hosts, &command, NULL, f);
	return f;
}

void mesh_ecn(struct mesh *m)
{
	index_list hosts = {0};
	size_t late = 0;

	for (size_t i = 0; i < m->n; i++)
		if (m->nodes[i].ecn && all_late(m, i)) {
			*LIST_ADD(m->a, &hosts) = i;
			late += all_late(m, i);
		}
	if (!hosts.n)
		return;
	finding_set(say(m, &hosts), late < LEAST_LATE ? ST_WARN : ST_FAIL,
		    "%s for ECN (net.ipv4.tcp_ecn), and in all %zu pair%s nothing was answered "
		    "before it was asked again without, a second later: something on the way "
		    "drops what asks for it",
		    hosts.n == 1 ? "asks" : "ask", late, late == 1 ? "" : "s");
	for (size_t i = 0; i < hosts.n; i++)
		for (size_t k = 0; k < m->n; k++)
			mesh_edit(m, hosts.v[i], k)->late = 0;
}
