#ifndef PROBES_PORT_MESH_JUDGE_H
#define PROBES_PORT_MESH_JUDGE_H
/* Between mesh_judge.c, which finds the gaps, and mesh_fix.c, which knows what closes them. */
#include "probes/port/mesh.h"

typedef LIST(size_t) index_list;

/* Where something does not come through, in at @hosts or out of them, for one cause. */
struct mesh_gap {
	bool in;
	bool all; /* every other host is concerned */
	index_list hosts, others;
	size_t ports_bad, ports_all;
	const struct mesh_cell *example;
	unsigned fits; /* CAUSE_BULK: packets that pass; 0: not found */
};

static inline const char *mesh_names_of(const struct mesh *m, const index_list *l)
{
	return mesh_folded(m, l->v, l->n);
}

/* What is to be typed, and on which of them. */
void mesh_fix(const struct mesh *m, const struct mesh_gap *x, enum port_cause cause,
	      struct finding *f);
/* The @others: subnets where everybody is meant, or many, else addresses; each once. */
void mesh_peers(const struct mesh *m, const struct mesh_gap *x, str_list *ret);
/* Those of them whose firewall was not looked at. */
index_list mesh_unread(const struct mesh *m, const index_list *l);

#endif
