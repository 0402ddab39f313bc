/* What a run in groups says of them: each one's bandwidth, and who is slow beside its like. */
#include "bench/sweep/slow.h"
#include "bench/sweep/table.h"
#include "bench/sweep/verdict.h"
#include "lib/cluster/typed_way.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <math.h>

enum { LISTED_MAX = 64, NAMED_MAX = 8, HOSTS_MAX = 8 };

struct view {
	const struct story *s;
	const struct groups *g;
	double *gbps;
	struct group_verdict *is;
	const char *why_not; /* none is judged; NULL: they are */
};

/* NAN: not known, and of one rank there is none. */
static double busbw_of(const struct view *v, int i)
{
	return v->g->v[i].n == 1
		       ? NAN
		       : fmax(groups_book_best(&v->s->groups.book, i), v->s->groups.tried[i].again);
}

static void look(const struct story *s, struct view *v)
{
	const struct story_groups *x = &s->groups;
	size_t n = (size_t)x->g.n;
	struct groups_input in = {.g = &x->g,
				  .spread = &s->spread,
				  .tried = x->tried,
				  .bytes = x->book.largest,
				  .host_memory = streq(s->device, "host memory"),
				  .shared_gpu = strstr(s->transport, COMM_SHARED_GPU)};

	*v = (struct view){.s = s, .g = &x->g};
	in.gbps = v->gbps = arena_alloc(s->a, n * sizeof(*v->gbps));
	v->is = arena_alloc(s->a, n * sizeof(*v->is));
	for (int i = 0; i < v->g->n; i++)
		v->gbps[i] = groups_book_best(&x->book, i);
	v->why_not = groups_judge(&in, s->a, v->is);
}

/* --- names ----------------------------------------------------------------------------------- */

/* Their hosts, each once. */
static void hosts_of_group(const struct view *v, int i, str_list *ret)
{
	const struct group *g = &v->g->v[i];
	bool *seen = arena_alloc(v->s->a, (v->s->spread.n + 1) * sizeof(*seen));

	for (size_t h = 0; h < v->s->spread.n; h++)
		seen[h] = false;
	for (int k = 0; k < g->n; k++) {
		size_t rank = (size_t)g->ranks[k];

		if (seen[v->s->spread.of[rank]])
			continue;
		seen[v->s->spread.of[rank]] = true;
		*LIST_ADD(v->s->a, ret) = v->s->ranks.v[rank].host;
	}
}

static const char *hosts_text(const struct view *v, int i, const char *between)
{
	str_list hosts = {0};
	struct text t;

	hosts_of_group(v, i, &hosts);
	text_init(&t, v->s->a);
	for (size_t k = 0; k < hosts.n && k < HOSTS_MAX; k++)
		text_addf(&t, "%s%s", k ? between : "", hosts.v[k]);
	text_more(&t, "", hosts.n, HOSTS_MAX);
	return t.s;
}

/* "group 3 (ranks 3, 11, 19: node0, node1, node2)" */
static const char *name(const struct view *v, int i)
{
	return arena_printf(v->s->a, "group %d (%s: %s)", v->g->v[i].id,
			    group_ranks_text(&v->g->v[i], v->s->a), hosts_text(v, i, ", "));
}

static struct finding *finding_of(const struct view *v, const char *check, int i)
{
	const char *subject = i < 0 ? NULL : arena_printf(v->s->a, "group %d", v->g->v[i].id);

	return report_find(v->s->r, check, subject);
}

/* --- the list -------------------------------------------------------------------------------- */

static void show_one(const struct view *v, int i)
{
	const struct group *g = &v->g->v[i];
	int64_t wrong = v->s->groups.wrong[i];
	double gbps = busbw_of(v, i);

	table_note(v->s->r, " Group %2d  %7s GB/s  %-12s  %s%s", g->id,
		   isnan(gbps) ? "-" : arena_printf(v->s->a, "%.3f", gbps),
		   group_ranks_text(g, v->s->a), hosts_text(v, i, ", "),
		   wrong > 0 ? arena_printf(v->s->a, "  %lld wrong", (long long)wrong) : "");
}

static void show(const struct view *v)
{
	const struct groups *g = v->g;
	struct unit_buf b;

	table_note(v->s->r, "Groups, all at once: bus bandwidth of each, at sizes up to %s",
		   format_size(&b, v->s->groups.book.largest));
	for (int i = 0; i < g->n && i < LISTED_MAX; i++)
		show_one(v, i);
	if (g->n > LISTED_MAX)
		table_note(v->s->r, " and %d groups more, which --json lists", g->n - LISTED_MAX);
	if (g->members < g->size)
		table_note(v->s->r, " %d of %d ranks are in no group and looked on",
			   g->size - g->members, g->size);
}

static void add_data(const struct view *v)
{
	cJSON *groups = json_array(report_data(v->s->r), "groups");

	for (int i = 0; i < v->g->n; i++) {
		const struct group *g = &v->g->v[i];
		const struct groups_tried *t = &v->s->groups.tried[i];
		cJSON *o = json_push_object(groups), *list = json_array(o, "ranks");
		int64_t wrong = v->s->groups.wrong[i];
		str_list hosts = {0};

		json_num(o, "id", g->id);
		for (int k = 0; k < g->n; k++)
			cJSON_AddItemToArray(list, cJSON_CreateNumber(g->ranks[k]));
		hosts_of_group(v, i, &hosts);
		list = json_array(o, "hosts");
		for (size_t k = 0; k < hosts.n; k++)
			json_push_str(list, hosts.v[k]);
		json_num(o, "busbw_gbps", busbw_of(v, i));
		json_num(o, "alone_gbps", t->alone);
		json_num(o, "others_alone_gbps", t->beside);
		json_num(o, "wrong", wrong < 0 ? NAN : (double)wrong);
	}
}

/* --- findings -------------------------------------------------------------------------------- */

static int extreme(const struct view *v, bool most)
{
	int found = -1;

	for (int i = 0; i < v->g->n; i++) {
		double gbps = busbw_of(v, i);

		if (!isnan(gbps) &&
		    (found < 0 || (most ? gbps > busbw_of(v, found) : gbps < busbw_of(v, found))))
			found = i;
	}
	return found;
}

static void look_at(const struct view *v, struct finding *f, int i)
{
	bool gpu = !streq(v->s->device, "host memory");
	bool shared = groups_share_hosts(v->g, &v->s->spread, v->s->a);
	str_list hosts = {0};

	hosts_of_group(v, i, &hosts);
	if (gpu && hosts.n > 1 && shared)
		finding_fix(f,
			    "nvidia-smi topo -m; rdma link; rdma statistic   # on %s: the cards "
			    "beside the GPUs of these ranks",
			    hosts_text(v, i, ", "));
	else if (hosts.n > 1 && hosts.n <= HOSTS_MAX)
		finding_fix(f, "%s --find-slow",
			    typed_for(f->a, "ncclbench", NULL, hosts_text(v, i, ",")));
	else if (hosts.n > 1)
		finding_fix(f, "- ncclbench --find-slow, with --hosts of this group");
	else if (gpu)
		finding_fix(f, "nvidia-smi topo -m; nvidia-smi nvlink -s   # on %s", hosts.v[0]);
	else
		finding_fix(f, "top -b -n 1 | head -n 20   # on %s", hosts.v[0]);
}

/* Of GPUs in one host some pairs have a way that others have not: a warning. */
static bool is_within_host(const struct view *v, int i)
{
	str_list hosts = {0};

	hosts_of_group(v, i, &hosts);
	return hosts.n == 1 && groups_share_hosts(v->g, &v->s->spread, v->s->a);
}

static void say_slow(const struct view *v, int i)
{
	struct finding *f = finding_of(v, "group.bandwidth", i);
	const struct group_verdict *is = &v->is[i];
	const struct groups_tried *t = &v->s->groups.tried[i];

	finding_set(f, is_within_host(v, i) ? ST_WARN : ST_FAIL,
		    "%s reaches %.3f GB/s, the other%s %.3f%s", name(v, i), busbw_of(v, i),
		    is->like > 2 ? "s" : "", is->usual,
		    isnan(t->alone) ? ""
				    : arena_printf(v->s->a,
						   "; and %.3f while all are quiet, where group %d "
						   "has %.3f",
						   t->alone, v->g->v[is->best].id, t->beside));
	finding_value(f, busbw_of(v, i), "GB/s");
	finding_expect(f, ">= %.3f GB/s", is->usual * GROUP_SHARE);
	look_at(v, f, i);
	verdict_add(v->s->r, f);
}

/* Have groups a machine in common, whatever their hosts are called? */
static bool share_machines(const struct view *v)
{
	const struct story *s = v->s;
	const char **keys = arena_alloc(s->a, (s->ranks.n + 1) * sizeof(*keys));
	struct hosts machines;

	for (size_t i = 0; i < s->ranks.n; i++)
		keys[i] = *s->ranks.v[i].machine ? s->ranks.v[i].machine : s->ranks.v[i].host;
	hosts_of(keys, s->ranks.n, s->a, &machines);
	return groups_share_hosts(v->g, &machines, s->a);
}

static void say_disturbed(const struct view *v, int i)
{
	bool busy = streq(v->s->device, "host memory") && share_machines(v);
	struct finding *f = finding_of(v, "group.bandwidth", i);
	const struct groups_tried *t = &v->s->groups.tried[i];

	finding_set(f, busy ? ST_INFO : ST_WARN,
		    "%s reaches %.3f GB/s while all run, the other%s %.3f, and %.3f while they are "
		    "quiet: %s",
		    name(v, i), busbw_of(v, i), v->is[i].like > 2 ? "s" : "", v->is[i].usual,
		    t->alone,
		    busy ? "they share a machine's processors"
			 : "what it shares with them is full, a switch's way up or a card");
	finding_value(f, busbw_of(v, i), "GB/s");
	finding_expect(f, ">= %.3f GB/s", v->is[i].usual * GROUP_SHARE);
	if (!busy)
		look_at(v, f, i);
	verdict_add(v->s->r, f);
}

/* The run ended before it was tried again. */
static bool is_open(const struct view *v)
{
	for (int i = 0; i < v->g->n; i++)
		if (v->is[i].low && v->is[i].is == GROUP_UNJUDGED)
			return true;
	return false;
}

static const char *span_of(const struct view *v, int least, int most)
{
	struct arena *a = v->s->a;
	const char *from = arena_printf(a, "%.3f", busbw_of(v, least));

	return least == most ? from : arena_printf(a, "%s to %.3f", from, busbw_of(v, most));
}

static void say_together(const struct view *v)
{
	struct finding *f = finding_of(v, "group.bandwidth", -1);
	int least = extreme(v, false), most = extreme(v, true);
	const char *why_not = v->why_not   ? v->why_not
			      : is_open(v) ? "who is slow was not tried again"
					   : NULL;

	if (least < 0)
		finding_set(f, ST_INFO, "%d group%s: not judged: %s", v->g->n,
			    v->g->n == 1 ? "" : "s", v->why_not ?: "nothing was measured");
	else if (why_not)
		finding_set(f, ST_INFO, "%d group%s, %s GB/s; not judged: %s", v->g->n,
			    v->g->n == 1 ? "" : "s", span_of(v, least, most), why_not);
	else
		finding_set(f, ST_PASS,
			    "%d groups, %.3f to %.3f GB/s: none is slow beside its like", v->g->n,
			    busbw_of(v, least), busbw_of(v, most));
	if (least >= 0)
		finding_value(f, busbw_of(v, least), "GB/s");
	verdict_add(v->s->r, f);
}

static void judge(const struct view *v)
{
	int slow = 0, disturbed = 0;

	for (int i = 0; i < v->g->n; i++) {
		slow += v->is[i].is == GROUP_SLOW;
		disturbed += v->is[i].is == GROUP_DISTURBED;
		if (v->is[i].is == GROUP_SLOW && slow <= NAMED_MAX)
			say_slow(v, i);
		else if (v->is[i].is == GROUP_DISTURBED && disturbed <= NAMED_MAX)
			say_disturbed(v, i);
	}
	if (slow > NAMED_MAX || disturbed > NAMED_MAX)
		table_note(v->s->r, "%d groups in all are slow, see the list", slow + disturbed);
	if (!slow && !disturbed)
		say_together(v);
}

/* --expect: of each by itself; what is asked of all hides in a mean. */
static void judge_expected(const struct view *v, double limit)
{
	struct finding *f = finding_of(v, "group.expected", -1);
	int below = 0, of = 0, least = extreme(v, false);
	struct text t;

	if (least < 0)
		return;
	text_init(&t, v->s->a);
	for (int i = 0; i < v->g->n; i++) {
		of += !isnan(busbw_of(v, i));
		if (!(busbw_of(v, i) < limit) || ++below > NAMED_MAX)
			continue;
		text_addf(&t, "%s%s %.3f", below > 1 ? ", " : "", name(v, i), busbw_of(v, i));
	}
	if (below)
		finding_set(f, ST_FAIL, "%d of %d groups are below %g GB/s: %s%s", below, of, limit,
			    t.s, below > NAMED_MAX ? " ..." : "");
	else
		finding_set(f, ST_PASS, "all %d groups reach %g GB/s; the slowest is %s with %.3f",
			    of, limit, name(v, least), busbw_of(v, least));
	finding_value(f, busbw_of(v, least), "GB/s");
	finding_expect(f, ">= %g GB/s", limit);
	if (below)
		look_at(v, f, least);
	verdict_add(v->s->r, f);
}

void verdict_groups(const struct story *s, const struct verdict_opts *o)
{
	struct view v;

	if (!s->groups.g.n || !s->totals.carried)
		return;
	look(s, &v);
	show(&v);
	if (o->expect_gbps > 0)
		judge_expected(&v, o->expect_gbps);
	judge(&v);
	if (report_wants_data(s->r))
		add_data(&v);
}
