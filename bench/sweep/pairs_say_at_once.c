/* --together: what pairs reach at once, of what they reach alone, and who shares what slows them.
 */
#include "bench/sweep/pairs_say.h"
#include "lib/cluster/hostlist.h"
#include "lib/cluster/typed_way.h"
#include "lib/report/json.h"

#include <math.h>

static const char *host_of(const struct story *s, int unit)
{
	return s->ranks.v[s->units.v[unit]].host;
}

/* node[0-3] */
static const char *group_name(const struct story *s, int group)
{
	const struct grouping *g = &s->at_once.groups;
	host_list hosts = {0};

	for (int i = 0; i < g->n; i++)
		if (g->of[i] == group)
			*LIST_ADD(s->a, &hosts) = (struct host){.name = host_of(s, i)};
	return hostlist_fold(s->a, &hosts);
}

static const char *groups_text(const struct story *s, const char *between)
{
	const struct grouping *g = &s->at_once.groups;
	struct text t;

	text_init(&t, s->a);
	for (int k = 0; k < g->groups; k++)
		text_addf(&t, "%s%s",
			  !k		      ? ""
			  : k + 1 < g->groups ? (*between == ',' ? "," : ", ")
					      : between,
			  group_name(s, k));
	return t.s;
}

static const char *what(const struct story *s)
{
	const struct story_at_once *x = &s->at_once;
	const char *machine = x->share_machine ? " (these hosts are on one machine)" : "";

	if (x->groups.n)
		return arena_printf(s->a,
				    "what is between %s is shared%s, and pairs within these keep "
				    "%.0f %%",
				    groups_text(s, " and "), machine, x->share * 100);
	return arena_printf(s->a,
			    "something between them is shared%s; where, was not found out, for "
			    "neighbours in the list fare no better",
			    machine);
}

static const char *sampled(const struct story *s, const struct at_once *is)
{
	size_t n = s->at_once.pairs.n;

	return is->tried < n ? arena_printf(s->a, " (%zu of them were tried)", is->tried) : "";
}

static void fix_shared(const struct story *s, struct finding *f)
{
	bool nodes = true, cloud = false;

	for (size_t i = 0; i < s->units.n; i++) {
		nodes &= host_is_node(host_of(s, (int)i));
		cloud |= s->ranks.v[s->units.v[i]].instance != NULL;
	}
	if (s->at_once.groups.n)
		finding_fix(f,
			    "%s   # ranks of one group next to each other: rings cross once each "
			    "way",
			    typed_for(f->a, "ncclbench", NULL, groups_text(s, ",")));
	if (cloud)
		finding_fix(f, "- start them in one placement group (EC2: strategy cluster; "
			       "elsewhere: compact placement)");
	else if (nodes)
		finding_fix(f, "srun --switches=1 ...  # Slurm: on one switch, where "
			       "topology.conf knows them; or --contiguous");
	finding_fix(f, "- else ask who runs the network: uplinks of the switches between them, or "
		       "one card that virtual hosts share");
}

static void say_shared(const struct story *s, const struct at_once *is, double limit,
		       struct finding *f)
{
	bool below = is->pair_together < limit; /* --expect, of each pair: none is 0 */

	finding_set(f, below ? ST_FAIL : ST_WARN,
		    "%zu pairs at once reach %.3f GB/s each way in all, alone%s they add up to "
		    "%.3f (%.1f : 1): %s; all_to_all, and rings that cross it at every step, get "
		    "%.3f GB/s instead of %.3f",
		    s->at_once.pairs.n, is->together, sampled(s, is), is->alone, 1 / is->ratio,
		    what(s), is->pair_together, is->pair_alone);
	fix_shared(s, f);
}

static void judge(const struct story *s, const struct at_once *is, double limit, struct finding *f)
{
	if (is->is == AT_ONCE_SLOWER)
		say_shared(s, is, limit, f);
	else if (is->is == AT_ONCE_KEPT)
		finding_set(
			f, ST_PASS,
			"%zu pairs at once reach %.3f GB/s each way in all, %.0f %% of what "
			"they add up to alone%s: nothing that they share slows them at that rate",
			s->at_once.pairs.n, is->together, is->ratio * 100, sampled(s, is));
	else if (!is->tried)
		finding_set(f, ST_SKIP, "not measured: no pair was tried both at once and alone");
	else
		finding_set(f, ST_SKIP,
			    "not judged: processors were busy, and what pairs reach at once (%.0f "
			    "%% of what they reach alone) says nothing about the network",
			    is->ratio * 100);
	finding_value(f, is->ratio * 100, "%");
	finding_expect(f, ">= %.0f %% of what they reach alone", AT_ONCE_SHARE * 100);
}

static const char *why_not(const struct story *s)
{
	if (!s->at_once.told)
		return "not measured: the run ended before pairs were tried at once";
	if (s->at_once.share_machine)
		return "not measured: ranks share a machine, whose processors and memory pairs at "
		       "once would measure";
	return arena_printf(s->a,
			    "not measured: two pairs at once take four hosts, and here are %zu",
			    s->units.n);
}

static const char *word(enum at_once_is is)
{
	return is == AT_ONCE_KEPT ? "none" : is == AT_ONCE_SLOWER ? "shared" : "unknown";
}

static void add_data(const struct story *s, const struct at_once *is)
{
	const struct story_at_once *x = &s->at_once;
	cJSON *o = json_object(report_data(s->r), "together"), *list = json_array(o, "groups");

	json_num(o, "pairs", (double)x->pairs.n);
	json_num(o, "tried_alone", (double)is->tried);
	json_num(o, "alone_gbps", is->alone);
	json_num(o, "at_once_gbps", is->together);
	json_num(o, "pair_alone_gbps", is->pair_alone);
	json_num(o, "pair_at_once_gbps", is->pair_together);
	json_num(o, "ratio", is->ratio);
	json_num(o, "waited_for_processors", is->waited);
	json_num(o, "busy", is->busy);
	json_str(o, "oversubscribed", word(is->is));
	json_num(o, "seconds", x->seconds);
	for (int k = 0; k < x->groups.groups && x->groups.n; k++) {
		cJSON *group = cJSON_CreateArray();

		for (int i = 0; i < x->groups.n; i++)
			if (x->groups.of[i] == k)
				json_push_str(group, host_of(s, i));
		cJSON_AddItemToArray(list, group);
	}
	json_num(o, "within_ratio", x->groups.n ? x->share : NAN);
}

void at_once_say(const struct story *s, const struct verdict_opts *o)
{
	struct at_once is;
	struct finding *f;

	if (!s->at_once.told && !o->together)
		return;
	f = report_find(s->r, "pair.together", NULL);
	is = at_once_judge(&s->at_once.pairs, s->a);
	if (s->at_once.pairs.n)
		judge(s, &is, o->expect_gbps, f);
	else
		finding_set(f, ST_SKIP, "%s", why_not(s));
	verdict_add(s->r, f);
	if (s->at_once.pairs.n && report_wants_data(s->r))
		add_data(s, &is);
}
