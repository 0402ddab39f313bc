/* Which host gets how many ranks, and what their exit codes mean together. */
#include "lib/cluster/agent.h"
#include "lib/cluster/launch.h"

int launch_merge_codes(int a, int b)
{
	static const int order[] = {1, 4, 3};

	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return a || b ? 3 : 0;
}

static unsigned capacity(const host_list *hosts, unsigned np_per_host, size_t i)
{
	unsigned slots = hosts->v[i].slots;

	return np_per_host ? np_per_host : slots ? slots : 1;
}

static bool slots_are_said(const host_list *hosts)
{
	for (size_t i = 0; i < hosts->n; i++)
		if (hosts->v[i].slots)
			return true;
	return false;
}

static int too_many(const host_list *hosts, unsigned np, unsigned np_per_host, unsigned room,
		    struct err *e)
{
	unsigned n = (unsigned)hosts->n;

	err_set(e, ERR_USAGE, "%u ranks do not fit: %zu host%s %s room for %u", np, hosts->n,
		hosts->n == 1 ? "" : "s", hosts->n == 1 ? "has" : "have", room);
	if (np_per_host) /* which goes before slots */
		return err_hint(e, "ask for --np %u, or for --np-per-host %u", room,
				(np + n - 1) / n);
	return err_hint(e, "ask for --np %u, or give more slots (node1:8)", room);
}

int launch_place(const host_list *hosts, unsigned np, unsigned np_per_host, unsigned *ret_counts,
		 struct err *e)
{
	bool evenly = np && !np_per_host && !slots_are_said(hosts);
	uint64_t room = 0;
	unsigned left = np;

	for (size_t i = 0; i < hosts->n; i++) {
		unsigned each = capacity(hosts, np_per_host, i), later = (unsigned)(hosts->n - i);

		if (evenly)
			each = left / later + (left % later != 0);
		room += each;
		if (np && each > left)
			each = left;
		left -= np ? each : 0;
		ret_counts[i] = each;
		if (each > AGENT_RANKS_MAX || room > WORLD_MAX)
			return err_set(e, ERR_USAGE, "%u ranks on %s are too many (%d at most)",
				       each, hosts->v[i].name, AGENT_RANKS_MAX);
	}
	return left ? too_many(hosts, np, np_per_host, (unsigned)room, e) : 0;
}
