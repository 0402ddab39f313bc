/* What is wrong about ports, in the fewest rules that would mend it: a finding for each gap. */
#include "probes/port/mesh_judge.h"

#include "lib/report/json.h"

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
	return mesh_cell_is_bad(back) && (back->cause == cause || !mesh_is_bulk(cause))
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

	if (x->example->seldom)
		return arena_printf(m->a, "; or %s", x->example->seldom->text);
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
	       cause == CAUSE_OWN_FIREWALL || port_cause_is_stranger(cause);
}

/* It stands in another network than the others: NULL: it does not. */
static const char *own_network(const struct mesh *m, const struct mesh_gap *x)
{
	const struct mesh_node *here = &m->nodes[x->hosts.v[0]],
			       *there = &m->nodes[x->of_first.v[0]];

	if (mesh_families_differ(m, x))
		return arena_printf(m->a,
				    ": of %s the others know an address of IPv%c, and of %s "
				    "one of IPv%c",
				    here->name, here->addr.sa.sa_family == AF_INET6 ? '6' : '4',
				    there->name, there->addr.sa.sa_family == AF_INET6 ? '6' : '4');
	if (x->in || x->hosts.n > 1 || !here->subnet || !there->subnet ||
	    streq(here->subnet, there->subnet))
		return NULL;
	return arena_printf(m->a, ": its network is %s, and that of %s %s", here->subnet,
			    there->name, there->subnet);
}

static const char *stranger(const struct mesh *m, const struct mesh_gap *x)
{
	const struct mesh_node *here = &m->nodes[x->hosts.v[0]];

	if (x->hosts.n > 1 || !x->all || !mesh_is_stranger(m, x->hosts.v[0]))
		return "";
	return arena_printf(m->a,
			    "; or a wrong address: its network is %s, and that of all others %s",
			    here->subnet, m->nodes[x->of_first.v[0]].subnet);
}

/* Where everybody who asked in vain asked with it. */
static const char *ecn(const struct mesh *m, const struct mesh_gap *x)
{
	const index_list *askers = x->in ? &x->others : &x->hosts;

	return mesh_ecn_always(m, askers).n < askers->n
		       ? ""
		       : "; or something drops what asks for ECN, as it did (net.ipv4.tcp_ecn)";
}

static const char *detail(const struct mesh *m, const struct mesh_gap *x, enum port_cause cause)
{
	if (x->stops)
		return arena_printf(m->a, ": %s", x->stops);
	if (cause == CAUSE_DROPPED && x->example->paths)
		return arena_printf(m->a, "%s; %s", whose_rules(m, x, cause), x->example->paths);
	if (cause == CAUSE_DROPPED || cause == CAUSE_LOST_ANSWER)
		return arena_printf(m->a, "%s%s%s", whose_rules(m, x, cause), stranger(m, x),
				    cause == CAUSE_DROPPED ? ecn(m, x) : "");
	if (cause == CAUSE_NOT_SEEN6 && m->nodes[x->hosts.v[0]].rules_cut)
		return arena_printf(m->a,
				    "; more than %d rules of its own stop IPv6's questions, and of "
				    "the others it did not tell whom",
				    MESH_MOST_RULES);
	if (cause == CAUSE_ROUTER && x->example->router)
		return arena_printf(m->a, ": %s", x->example->router);
	if (cause == CAUSE_PATHS && x->example->paths)
		return arena_printf(m->a, ": %s", x->example->paths);
	if (is_firewalls(cause) && !all_known(m, &x->hosts))
		return not_looked_at(m, x);
	if (cause == CAUSE_NOBODY)
		return x->in ? ", though it is up" : ", though they are up";
	if (cause == CAUSE_NO_ROUTE && own_network(m, x))
		return own_network(m, x);
	if (cause == CAUSE_BULK)
		return arena_printf(m->a, "; packets of %u bytes pass", x->fits);
	return "";
}

static const char *whom(const struct mesh *m, const struct mesh_gap *x)
{
	if (x->all && (x->hosts.n > 1 || x->others.n > 1))
		return "any other node";
	return x->alike ? mesh_names_of(m, &x->others) : "some others";
}

/* What the same commands mend at the same hosts is one fault, seen from both ends. */
static bool is_echo(const gap_list *said, const struct mesh_gap *x)
{
	for (size_t i = 0; i < said->n; i++) {
		const struct mesh_gap *y = &said->v[i];

		if (x->commands.n && tally_same_fix(&x->commands, &y->commands) &&
		    x->hosts.n == y->hosts.n &&
		    !memcmp(x->hosts.v, y->hosts.v, x->hosts.n * sizeof(*x->hosts.v)))
			return true;
	}
	return false;
}

static void emit(const struct mesh *m, const struct mesh_gap *x, enum port_cause cause, bool echo)
{
	const char *check = mesh_is_bulk(cause) ? "mesh.bulk" : x->in ? "mesh.in" : "mesh.out";
	bool many = x->hosts.n > 1, bulk = mesh_is_bulk(cause);
	struct finding *f = report_find(m->report, check, mesh_names_of(m, &x->hosts));

	finding_set(f, echo ? ST_INFO : ST_FAIL, "%s%s %s%s: %s%s%s",
		    echo ? "follows from the same, and the same mends it: " : "",
		    x->in ? (many ? "are not reached from" : "is not reached from")
			  : (many ? "do not reach" : "does not reach"),
		    whom(m, x), bulk ? " by bulk data" : ports_text(m, x), port_cause_text(cause),
		    detail(m, x, cause), way_back(m, x, cause));
	if (bulk)
		finding_expect(f, "%d KiB arrive", MESH_BULK_BYTES >> 10);
	else
		finding_expect(f, "%s", m->o->expect_open ? "open" : "an answer: open or refused");
	if (!echo)
		mesh_fix(m, x, cause, f);
	report_add(m->report, f);
}

static void data_rule(const struct mesh *m, const struct mesh_gap *x, enum port_cause cause)
{
	cJSON *data = report_data(m->report), *list = cJSON_GetObjectItem(data, "rules"), *o;
	str_list peers = {0};
	cJSON *on, *with, *fix;

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
	json_str(o, "rule", x->stops);
	fix = json_array(o, "fix"); /* on each of them */
	for (size_t i = 0; i < x->commands.n; i++)
		json_push_str(fix, x->commands.v[i]);
}

static void judge_cause(const struct mesh *m, enum port_cause cause, gap_list *said)
{
	gap_list gaps;

	mesh_gaps(m, cause, &gaps);
	for (size_t i = 0; i < gaps.n; i++) {
		emit(m, &gaps.v[i], cause, is_echo(said, &gaps.v[i]));
		*LIST_ADD(m->a, said) = gaps.v[i];
		if (report_wants_data(m->report))
			data_rule(m, &gaps.v[i], cause);
	}
}

void mesh_judge(const struct mesh *m)
{
	gap_list said = {0};

	for (enum port_cause c = 0; c < CAUSE_COUNT; c++)
		if (c != CAUSE_LINK) /* said of the host itself */
			judge_cause(m, c, &said);
}
