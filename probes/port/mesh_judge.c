/* What is wrong about ports, in the fewest rules that would mend it (mesh_cover.c). */
#include "probes/port/mesh_judge.h"

#include "lib/report/json.h"

static bool is_edge(const struct mesh *m, enum port_cause cause, size_t from, size_t to)
{
	const struct mesh_cell *c = mesh_at(m, from, to);

	return mesh_cell_is_bad(c) && c->cause == cause;
}

static void collect(const struct mesh *m, enum port_cause cause, size_t host, bool in,
		    struct mesh_gap *ret)
{
	size_t known = 0;

	*ret = (struct mesh_gap){.in = in};
	*LIST_ADD(m->a, &ret->hosts) = host;
	for (size_t i = 0; i < m->n; i++) {
		size_t from = in ? i : host, to = in ? host : i;
		const struct mesh_cell *c = mesh_at(m, from, to);

		known += i != host && c->row;
		if (!is_edge(m, cause, from, to))
			continue;
		*LIST_ADD(m->a, &ret->others) = i;
		ret->ports_bad += c->bad;
		ret->ports_all += m->nodes[to].ports.n;
		if (!ret->example || (c->rule && !ret->example->rule))
			ret->example = c;
		if (c->cut && (!ret->fits || c->path_mtu < ret->fits))
			ret->fits = c->path_mtu;
	}
	ret->all = ret->others.n == known && known;
}

static bool same_rule(const struct mesh_gap *x, const struct mesh_gap *y, enum port_cause cause)
{
	if (cause == CAUSE_NEIGHBOURS) /* one setting, on all of them */
		return true;
	return x->in == y->in && x->all && y->all && !x->example->rule && !y->example->rule &&
	       x->fits == y->fits && (x->ports_bad < x->ports_all) == (y->ports_bad < y->ports_all);
}

static bool all_known(const struct mesh *m, const index_list *l) { return !mesh_unread(m, l).n; }

static const char *ports_text(const struct mesh *m, const struct mesh_gap *x)
{
	if (x->ports_bad == x->ports_all)
		return "";
	return arena_printf(m->a, " (%zu of %zu ports, such as %u)", x->ports_bad, x->ports_all,
			    x->example->bad_port);
}

/* One way only is what stateless rules and a missing egress rule look like: say it. */
static const char *way_back(const struct mesh *m, const struct mesh_gap *x, enum port_cause cause)
{
	const struct mesh_cell *back;
	size_t here = x->hosts.v[0], there = x->others.v[0];

	if (x->hosts.n != 1 || x->others.n != 1)
		return "";
	back = x->in ? mesh_at(m, here, there) : mesh_at(m, there, here);
	if (!back->row)
		return "";
	return mesh_cell_is_bad(back) && (back->cause == cause || cause != CAUSE_BULK)
		       ? "; the way back fails too"
		       : "; the way back works";
}

static const char *not_looked_at(const struct mesh *m, const struct mesh_gap *x)
{
	const index_list blind = mesh_unread(m, &x->hosts);
	const char *why = m->nodes[blind.v[0]].rules_trouble;

	return arena_printf(m->a, "; the firewall of %s was not looked at: %s",
			    mesh_names_of(m, &blind), why ? why : "which takes root there");
}

/* No rule there explains it: were they looked at, and what remains? */
static const char *whose_rules(const struct mesh *m, const struct mesh_gap *x,
			       enum port_cause cause)
{
	bool here = all_known(m, &x->hosts), there = all_known(m, &x->others);

	if (here && there)
		return cause == CAUSE_DROPPED
			       ? "; the rules of both ends let it through: a security group"
			       : "; the rules of both ends let it through";
	return here ? "" : not_looked_at(m, x);
}

/* A rule of the host's own it is, whichever. */
static bool is_firewalls(enum port_cause cause)
{
	return cause == CAUSE_HOST_FIREWALL || cause == CAUSE_LIMITED ||
	       cause == CAUSE_OWN_FIREWALL || cause == CAUSE_RESET;
}

static const char *detail(const struct mesh *m, const struct mesh_gap *x, enum port_cause cause)
{
	if (x->example->rule) {
		const char *text = arena_printf(m->a, ": %s", x->example->rule);

		for (const struct mesh_more *i = x->example->more; i; i = i->next)
			text = arena_printf(m->a, "%s; and %s", text, i->rule);
		return text;
	}
	if (cause == CAUSE_DROPPED || cause == CAUSE_LOST_ANSWER)
		return whose_rules(m, x, cause);
	if (cause == CAUSE_NOT_SEEN6 && m->nodes[x->hosts.v[0]].rules_cut)
		return arena_printf(m->a,
				    "; more than %d rules of its own stop IPv6's questions, and of "
				    "the others it did not tell whom",
				    MESH_MOST_RULES);
	if (is_firewalls(cause) && !all_known(m, &x->hosts))
		return not_looked_at(m, x);
	if (cause == CAUSE_BULK && x->fits)
		return arena_printf(m->a, "; packets of %u bytes pass", x->fits);
	if (cause == CAUSE_BULK)
		return "; none of the smaller sizes tried passes either";
	return "";
}

static void emit(const struct mesh *m, const struct mesh_gap *x, enum port_cause cause)
{
	const char *host = mesh_names_of(m, &x->hosts), *others = mesh_names_of(m, &x->others);
	const char *check = cause == CAUSE_BULK ? "mesh.bulk" : x->in ? "mesh.in" : "mesh.out";
	const char *who = x->hosts.n == 1 && x->others.n == 1 ? others
			  : x->all			      ? "any other node"
			  : x->hosts.n > 1		      ? "some others"
							      : others;
	bool many = x->hosts.n > 1, bulk = cause == CAUSE_BULK;
	struct finding *f = report_find(m->report, check, host);

	finding_set(f, ST_FAIL, "%s %s%s: %s%s%s",
		    x->in ? (many ? "are not reached from" : "is not reached from")
			  : (many ? "do not reach" : "does not reach"),
		    who, bulk ? " by bulk data" : ports_text(m, x), port_cause_text(cause),
		    detail(m, x, cause), way_back(m, x, cause));
	if (bulk)
		finding_expect(f, "%d KiB arrive", MESH_BULK_BYTES >> 10);
	else
		finding_expect(f, "%s", m->o->expect_open ? "open" : "an answer: open or refused");
	mesh_fix(m, x, cause, f);
	report_add(m->report, f);
}

static void data_rule(const struct mesh *m, const struct mesh_gap *x, enum port_cause cause)
{
	cJSON *data = report_data(m->report), *list = cJSON_GetObjectItem(data, "rules"), *o;
	str_list peers = {0};
	cJSON *on, *with;

	if (!list)
		list = json_array(data, "rules");
	o = json_push_object(list);
	json_str(o, "direction", x->in ? "in" : "out");
	on = json_array(o, "on");
	with = json_array(o, x->in ? "from" : "to");
	mesh_peers(m, x, &peers);
	for (size_t i = 0; i < x->hosts.n; i++)
		json_push_str(on, m->nodes[x->hosts.v[i]].name);
	for (size_t i = 0; i < peers.n; i++)
		json_push_str(with, peers.v[i]);
	json_str(o, "cause", port_cause_text(cause));
	json_str(o, "rule", x->example->rule);
}

static void join(const struct mesh *m, struct mesh_gap *to, const struct mesh_gap *x)
{
	*LIST_ADD(m->a, &to->hosts) = x->hosts.v[0];
	for (size_t i = 0; i < x->others.n; i++)
		*LIST_ADD(m->a, &to->others) = x->others.v[i];
	to->all &= x->all;
	to->ports_bad += x->ports_bad;
	to->ports_all += x->ports_all;
}

static void judge_cause(const struct mesh *m, enum port_cause cause)
{
	LIST(struct mesh_gap) rules = {0};
	struct mesh_cover v;
	size_t n = m->n;

	mesh_cover(m, cause, &v);
	for (size_t i = 0; i < 2 * n; i++) {
		struct mesh_gap x;
		size_t k = 0;

		if (i < n ? !v.in[i] : !v.out[i - n])
			continue;
		collect(m, cause, i % n, i < n, &x);
		while (k < rules.n && !same_rule(&rules.v[k], &x, cause))
			k++;
		if (k == rules.n)
			*LIST_ADD(m->a, &rules) = x;
		else
			join(m, &rules.v[k], &x);
	}
	for (size_t i = 0; i < rules.n; i++) {
		emit(m, &rules.v[i], cause);
		if (report_wants_data(m->report))
			data_rule(m, &rules.v[i], cause);
	}
}

void mesh_judge(const struct mesh *m)
{
	for (enum port_cause c = 0; c < CAUSE_COUNT; c++)
		judge_cause(m, c);
}
