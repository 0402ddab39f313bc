/*
 * Every host to every host costs the square of their number. Of more hosts than
 * a group holds, each group tests all its pairs, one group after the other: that
 * grows with the number of hosts. Hosts that stand side by side in the list, and so in a
 * rack, are dealt out to different groups: each group has some of every rack.
 */
#include "lib/core/interrupt.h"
#include "lib/report/json.h"
#include "probes/preflight/preflight.h"

enum { GROUP = 256 };

size_t preflight_groups(size_t hosts) { return hosts <= GROUP ? 1 : (hosts + GROUP - 1) / GROUP; }

void preflight_deal(struct arena *a, const host_list *hosts, size_t groups, size_t which,
		    host_list *ret)
{
	*ret = (host_list){0};
	for (size_t i = which; i < hosts->n; i += groups)
		*LIST_ADD(a, ret) = hosts->v[i];
}

/* Ways that fail are worth their numbers; of those that work the sum is said. */
static void keep_bad(cJSON *parts, const char *stage, const cJSON *data, bool bad)
{
	cJSON *o = cJSON_GetObjectItemCaseSensitive(parts, stage), *list, *copy;

	o = o ? o : json_object(parts, stage);
	list = cJSON_GetObjectItemCaseSensitive(o, "groups");
	list = list ? list : json_array(o, "groups");
	if (!bad || !cJSON_IsObject(data))
		return;
	copy = cJSON_Duplicate(data, true);
	cJSON_DeleteItemFromObjectCaseSensitive(copy, "targets");
	cJSON_DeleteItemFromObjectCaseSensitive(copy, "pairs");
	cJSON_AddItemToArray(list, copy);
}

void preflight_run_groups(struct preflight *p, enum stage_id id, const host_list *hosts)
{
	size_t n = preflight_groups(hosts->n), done = 0;
	struct finding *f;

	p->groups = n;
	p->grouped = true;
	for (; done < n && !interrupt_pending() && preflight_cap(p, id); done++) {
		size_t from = p->t.items.n;
		host_list some;
		cJSON *doc;

		preflight_deal(p->a, hosts, n, done, &some);
		p->group = done + 1;
		doc = preflight_run_doc(p, id, preflight_args(p, id, hostlist_fold(p->a, &some)),
					true);
		if (preflight_wants_data(p))
			keep_bad(preflight_parts(p), stages[id].name, json_get(doc, "data"),
				 tally_first(&p->t, from, p->t.items.n, ST_FAIL) != NULL);
		cJSON_Delete(doc);
	}
	f = preflight_note(p, id);
	finding_set(f, done < n ? ST_SKIP : ST_INFO,
		    "tested in %zu of %zu groups of at most %d hosts, each with hosts from all "
		    "over the list; not between groups",
		    done, n, GROUP);
	p->groups = p->group = 0;
}
