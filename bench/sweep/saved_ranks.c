#include "bench/sweep/saved_ranks.h"

#include "bench/ranks/hosts.h"

void saved_ranks_add(saved_ranks *r, struct arena *a, const char *host, long group)
{
	*LIST_ADD(a, &r->hosts) = host;
	if (group < 0) /* ours, which looked on */
		return;
	*LIST_ADD(a, &r->groups) = arena_printf(a, "%ld", group);
	*LIST_ADD(a, &r->cells) = arena_printf(a, "%ld %s", group, host);
}

void saved_ranks_count(const saved_ranks *r, struct arena *a, struct saved *s)
{
	struct hosts hosts, groups, cells;
	bool alike;

	if (!r->hosts.n)
		return;
	hosts_of(r->hosts.v, r->hosts.n, a, &hosts);
	hosts_of(r->groups.v, r->groups.n, a, &groups);
	hosts_of(r->cells.v, r->cells.n, a, &cells);
	alike = groups.least == groups.most && cells.least == cells.most &&
		r->groups.n == r->hosts.n;
	s->ranks = (int)r->hosts.n;
	s->hosts = (int)hosts.n;
	s->uneven = hosts.least != hosts.most;
	s->groups = (int)groups.n;
	s->group_ranks = alike ? (int)groups.most : 0;
	s->group_hosts = alike ? (int)(groups.most / cells.most) : 0;
}
