/* Pairs whose silent connections fared alike are one finding. */
#include "probes/port/mesh_idle.h"

#include "lib/cluster/typed_way.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <math.h>

/* What EC2 recommends to stay below is its longest, five days. */
enum { LINUX_S = 432000, DAY_S = 86400 };

struct group {
	struct idle_verdict v;
	bool own;	  /* a host's own table agrees with it: those hosts are @owners */
	index_list pairs; /* from * n + to */
	index_list owners;
};
typedef LIST(struct group) group_list;

/* ---- alike ---- */
static bool are_alike(const struct group *g, const struct idle_verdict *v, bool own)
{
	return g->v.alive == v->alive && g->v.dead == v->dead && g->v.how == v->how &&
	       g->v.first == v->first && g->v.cut == v->cut && g->v.odd == v->odd && g->own == own;
}

static void add_pair(const struct mesh *m, group_list *all, size_t pair, struct idle_verdict *v)
{
	const size_t ends[] = {pair / m->n, pair % m->n};
	bool owns[] = {mesh_idle_is_own(m, ends[0], v), mesh_idle_is_own(m, ends[1], v)};
	struct group *g = NULL;

	for (size_t i = 0; i < all->n && !g; i++)
		if (are_alike(&all->v[i], v, owns[0] || owns[1]))
			g = &all->v[i];
	if (!g) {
		g = LIST_ADD(m->a, all);
		*g = (struct group){.v = *v, .own = owns[0] || owns[1]};
	}
	*LIST_ADD(m->a, &g->pairs) = pair;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (owns[i])
			mesh_idle_add(m, &g->owners, ends[i]);
}

/* ---- what ---- */
static const char *how_text(char letter)
{
	switch ((enum quiet_state)(strchr(quiet_letters, letter) - quiet_letters)) {
	case QUIET_RESET:
		return "reset";
	case QUIET_CLOSED:
		return "closed";
	default:
		return "no answer";
	}
}

static const char *was_well(const struct mesh *m, const struct idle_verdict *v)
{
	return v->alive ? arena_printf(m->a, "%s was well", mesh_idle_text(m, v->alive))
			: "none shorter was tried, or was well";
}

static const char *when(const struct idle_verdict *v)
{
	return v->first == IDLE_OPENER	 ? ", when the end that opened it speaks first"
	       : v->first == IDLE_CALLED ? ", when the end that was called speaks first"
					 : "";
}

static const char *again(const struct mesh *m, const struct group *g)
{
	const index_list ends = mesh_idle_ends(m, &g->pairs);

	return arena_printf(m->a, "%s --idle %.0fs",
			    typed_for(m->a, "portcheck", m->way.rsh, mesh_names_of(m, &ends)),
			    (double)m->o->idle_ns / NS_PER_S);
}

/* So often something is sent where keepalive is forced on a job: before anything is forgotten. */
static unsigned often_s(const struct mesh *m, const struct idle_verdict *v)
{
	const uint64_t ns = mesh_idle_ns(m, v->alive ?: v->dead) / 2;

	return ns > NS_PER_S ? (unsigned)(ns / NS_PER_S) : 1;
}

/* Who forgets is not known: whatever is between them. */
static void advise(const struct mesh *m, const struct group *g, struct finding *f)
{
	const index_list ends = mesh_idle_ends(m, &g->pairs);
	const unsigned often = often_s(m, &g->v);
	bool ec2 = false;

	for (size_t i = 0; i < ends.n; i++)
		ec2 |= m->nodes[ends.v[i]].ec2;
	if (ec2)
		finding_fix(f,
			    "aws ec2 modify-network-interface-attribute --network-interface-id ENI "
			    "--connection-tracking-specification TcpEstablishedTimeout=%d   # for "
			    "the interface of each node: portcheck --cloud --audit names them",
			    DAY_S);
	finding_fix(f, "- give what is between them (a firewall, a NAT gateway, a VPN) an idle "
		       "timeout for TCP that is longer than a job is ever silent");
	finding_fix(f,
		    "export LD_PRELOAD=libkeepalive.so KEEPIDLE=%u KEEPINTVL=%u   # for the job, "
		    "where nobody can do that: the package libkeepalive0 gives its connections "
		    "keepalive",
		    often, often);
}

static void say_forgotten(const struct mesh *m, const struct group *g, struct finding *f)
{
	const str_list command = {.v = (const char *[]){arena_printf(
					  m->a,
					  "sudo sysctl -w "
					  "net.netfilter.nf_conntrack_tcp_timeout_established=%d",
					  LINUX_S)},
				  .n = 1};

	finding_set(f, ST_FAIL,
		    "a connection silent for %s is dead (%s; %s)%s: %s; NCCL's have no keepalive",
		    mesh_idle_text(m, g->v.dead), how_text(g->v.how), was_well(m, &g->v),
		    when(&g->v),
		    g->own ? arena_printf(m->a,
					  "the firewall's table of connections on %s forgets it "
					  "(nf_conntrack_tcp_timeout_established is %u s)",
					  mesh_names_of(m, &g->owners),
					  m->nodes[g->owners.v[0]].forgets_s)
			   : "something between forgets it");
	if (g->own)
		mesh_type(m, &g->owners, &command, NULL, f);
	else
		advise(m, g, f);
}

static void say_group(const struct mesh *m, const struct group *g)
{
	struct finding *f = report_find(m->report, "mesh.idle", mesh_idle_who(m, &g->pairs));
	const char *time = mesh_idle_text(m, g->v.dead);

	finding_expect(f, "alive after %s, as silent as a job at a checkpoint",
		       mesh_idle_text(m, quiet_times(m->o->idle_ns, (uint64_t[QUIET_TIMES]){0})));
	if (g->v.cut) {
		finding_set(f, ST_FAIL,
			    "a connection silent for %s is dead (%s), and a new one does not come "
			    "through either: what was between them when this began is gone",
			    time, how_text(g->v.how));
		finding_fix(f, "%s   # again: who does not reach whom?", again(m, g));
	} else if (g->v.odd) {
		finding_set(f, ST_WARN,
			    "a connection silent for %s is dead (%s), and those that were silent "
			    "longer are alive: it is not for its silence",
			    time, how_text(g->v.how));
		finding_fix(f, "%s   # again: is it so once more?", again(m, g));
	} else {
		say_forgotten(m, g, f);
	}
	report_add(m->report, f);
}

/* ---- and who is well ---- */
static size_t ordered_pairs(const struct mesh *m) { return m->n * (m->n - 1); }

/* Of all that are, the shortest of their longest. */
static void say_alive(const struct mesh *m, size_t alive, size_t least)
{
	const size_t all = quiet_times(m->o->idle_ns, (uint64_t[QUIET_TIMES]){0});
	const char *pairs =
		alive == ordered_pairs(m)
			? mesh_pairs(m, alive)
			: arena_printf(m->a, "%zu of %s", alive, mesh_pairs(m, ordered_pairs(m)));
	struct finding *f = report_find(m->report, "mesh.idle", pairs);

	if (least == all)
		finding_set(f, ST_PASS, "connections are alive after %s of silence%s",
			    mesh_idle_text(m, least),
			    m->n - 1 > QUIET_PEERS
				    ? arena_printf(m->a, "; each host has opened some to %d others",
						   QUIET_PEERS)
				    : "");
	else
		finding_set(
			f, ST_INFO,
			"connections are alive after %s of silence; what is longer is not known",
			mesh_idle_text(m, least));
	report_add(m->report, f);
}

static void say_none(const struct mesh *m)
{
	struct finding *f = report_find(m->report, "mesh.idle", NULL);

	if (m->cut) {
		finding_set(f, ST_SKIP,
			    "broken off before connections had been silent for %s, the shortest "
			    "time: what silence does to them is not known",
			    mesh_idle_text(m, 1));
	} else {
		finding_set(f, ST_ERROR, "no pair has a connection that could be silent");
		finding_expect(f, "hosts that reach each other");
	}
	report_add(m->report, f);
}

/* ---- for programs ---- */
static void put_pair(const struct mesh *m, cJSON *list, size_t pair, const struct idle_verdict *v)
{
	static const char *const firsts[] = {NULL, "from", "to", "either"};
	cJSON *o = json_push_object(list);
	uint64_t times[QUIET_TIMES] = {0};

	(void)quiet_times(m->o->idle_ns, times);
	json_str(o, "from", m->nodes[pair / m->n].name);
	json_str(o, "to", m->nodes[pair % m->n].name);
	json_num(o, "alive_s", v->alive ? (double)times[v->alive - 1] / NS_PER_S : NAN);
	if (!v->dead)
		return;
	json_num(o, "dead_s", (double)times[v->dead - 1] / NS_PER_S);
	json_str(o, "how", how_text(v->how));
	json_str(o, "first", firsts[v->first]);
	json_bool(o, "new_alive", !v->cut);
}

static cJSON *begin_data(const struct mesh *m)
{
	cJSON *idle, *list;
	uint64_t times[QUIET_TIMES];
	size_t n = quiet_times(m->o->idle_ns, times);

	if (!report_wants_data(m->report))
		return NULL;
	idle = json_object(report_data(m->report), "idle");
	list = json_array(idle, "times_s");
	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber((double)times[i] / NS_PER_S));
	return json_array(idle, "pairs");
}

void mesh_idle(const struct mesh *m)
{
	size_t alive = 0, least = QUIET_TIMES;
	group_list groups = {0};
	struct idle_verdict v;
	cJSON *list;

	if (!m->o->idle_ns)
		return;
	list = begin_data(m);
	for (size_t pair = 0; pair < m->n * m->n; pair++) {
		if (!mesh_idle_of(m, pair / m->n, pair % m->n, &v))
			continue;
		if (list)
			put_pair(m, list, pair, &v);
		if (v.dead) {
			add_pair(m, &groups, pair, &v);
			continue;
		}
		alive++;
		least = v.alive < least ? v.alive : least;
	}
	for (size_t i = 0; i < groups.n; i++)
		say_group(m, &groups.v[i]);
	if (alive)
		say_alive(m, alive, least);
	else if (!groups.n)
		say_none(m);
}
