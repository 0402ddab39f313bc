/* Do groups lie where they should, and is one of several slower than the others? */
#include "bench/sweep/story.h"
#include "bench/sweep/verdict.h"

#include <math.h>

/* Of the time: what is worth a word. */
static const double MUCH = 0.2;

static uint32_t hosts_in(const struct story *s, const struct traffic_group *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t k = 0;

		while (k < i && !story_are_together(s, g->ranks[k], g->ranks[i]))
			k++;
		n += k == i;
	}
	return n;
}

/* Groups that talk all the time, and belong within a host. Megatron's TENSOR_AND_DATA_... are of
 * more than that. */
static bool is_tensor(const char *name)
{
	static const char *const more[] = {"data", "pipe", "context", "_and_", "dp", "cp", "pp"};

	if (!strcasecmp(name, "tp") || !strcasecmp(name, "mesh_tp"))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		if (strcasestr(name, more[i]))
			return false;
	return strcasestr(name, "tensor");
}

struct split { /* groups that lie on several hosts */
	uint32_t n;
	const struct traffic_group *first; /* NULL: there is none */
};

static struct split split_of(const struct story *s, const struct traffic_kind *k)
{
	struct split ret = {0};

	for (size_t i = 0; i < k->groups.n; i++) {
		const struct traffic_group *g = &s->o->replay->groups.v[k->groups.v[i]];

		if (hosts_in(s, g) < 2)
			continue;
		ret.first = ret.first ?: g;
		ret.n++;
	}
	return ret;
}

/* How many groups of that size could lie within the hosts, each on one. */
static size_t room_for(const struct story *s, uint32_t size)
{
	size_t *ranks = arena_alloc(s->a, (s->spread.n + 1) * sizeof(*ranks)), n = 0;

	for (int i = 0; i < s->o->replay->ranks; i++)
		n += ++ranks[s->spread.of[i]] % size == 0;
	return n;
}

/* "each tensor group lie on 2 hosts (tp (ranks 0 and 1, and 1 group more))" */
static const char *where_split(const struct story *s, const struct traffic_kind *k,
			       const struct split *p)
{
	const struct traffic_group *g = p->first;
	uint32_t hosts = hosts_in(s, g);

	if (p->n == k->groups.n)
		return arena_printf(s->a, "each tensor group lie on %u hosts (%s)", hosts,
				    traffic_where(s->o->replay, k, s->a));
	return arena_printf(
		s->a,
		"%u of %zu tensor groups lie on several hosts (first that of ranks %d to "
		"%d, on %u)",
		p->n, k->groups.n, g->ranks[0], g->ranks[g->n - 1], hosts);
}

static void judge_tensor(const struct story *s, double part, const struct traffic_kind *k)
{
	const char *name = s->o->replay->families.v[k->family].name;
	struct split split;
	struct finding *f;
	size_t room;
	bool fits;

	if (!is_tensor(name) || !(split = split_of(s, k)).n)
		return;
	room = room_for(s, split.first->n);
	fits = room >= k->groups.n;
	f = report_find(s->r, "replay.group", name);
	finding_set(f, fits ? ST_WARN : ST_INFO,
		    "the ranks of %s, and %s of it is %.0f %% of the time: %s",
		    where_split(s, k, &split), k->as, fmin(1, part) * 100,
		    fits   ? "within a host it would not go over the network"
		    : room ? arena_printf(s->a, "the hosts have room for %zu within one", room)
			   : "no host has room for so many ranks");
	if (fits)
		finding_fix(f,
			    "- number the ranks so that each tensor group is on one host: its size "
			    "divides the GPUs of a host, and is the fastest dimension of the mesh");
	verdict_add(s->r, f);
}

/* One of several groups that is slower, and lies on as many hosts as the fastest: neighbours in a
 * pipeline are on one, or on two. */
static void judge_slow(const struct story *s, const struct traffic_kind *k,
		       const struct replay_kind *now)
{
	const struct traffic_group *all = s->o->replay->groups.v, *slow = &all[now->slowest];
	struct finding *f;

	if (story_hosts(s) < 2 || k->groups.n < 2 || now->us < 2 * now->least_us ||
	    now->us < 1000 || hosts_in(s, slow) != hosts_in(s, &all[now->fastest]))
		return;
	f = report_find(s->r, "replay.slow_group", k->as);
	finding_set(
		f, ST_WARN,
		"the group of ranks %d to %d (%s) takes %.1f times as long for %s as the fastest "
		"of the %zu like it",
		slow->ranks[0], slow->ranks[slow->n - 1], s->ranks.v[slow->ranks[0]].host,
		now->us / now->least_us, k->as, k->groups.n);
	again_fix(f, &s->o->again, "--find-slow", NULL);
	verdict_add(s->r, f);
}

static void judge_group(const struct story *s, const struct replay_sum *sum, size_t i)
{
	const struct traffic_kind *k = &s->o->replay->kinds.v[i];
	double part = replay_kind_s(s->o->replay, s->replay.kinds, i) / sum->now_s;

	if (!(part > MUCH))
		return;
	judge_tensor(s, part, k);
	judge_slow(s, k, &s->replay.kinds[i]);
}

void replay_judge_groups(const struct story *s, const struct replay_sum *sum)
{
	for (size_t i = 0; i < s->o->replay->kinds.n; i++)
		judge_group(s, sum, i);
}
