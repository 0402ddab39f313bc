/* What is between hosts: ports, ways, collectives, training; and whose fault it is. */
#include "lib/cluster/rsh.h"
#include "lib/cluster/typed_way.h"
#include "lib/report/json.h"
#include "lib/report/typed.h"
#include "probes/iface/fleet.h"
#include "probes/preflight/crew.h"
#include "probes/preflight/preflight.h"
#include "probes/tally/subject.h"

static bool blame(struct preflight *p, const char *name)
{
	for (size_t i = p->known.n; i < p->hosts.n; i++)
		names_add(&p->known, p->a, p->hosts.v[i].name);
	if (!names_has(&p->known, name))
		return false;
	if (!names_has(&p->blamed, name))
		names_add(&p->blamed, p->a, arena_strdup(p->a, name));
	return true;
}

static bool blame_words(struct preflight *p, const char *subject)
{
	host_list named;
	bool any = false;

	subject_names(p->a, subject, &named);
	for (size_t i = 0; i < named.n; i++)
		any |= blame(p, named.v[i].name);
	return any;
}

/* The subject of what failed between hosts is the culprit; who said so is only a witness.
 * @explained: by a second look at an earlier stage, which names them. */
static void blame_stage(struct preflight *p, enum stage_id id, bool explained)
{
	const struct stage_run *run = &p->run[id];

	for (size_t i = run->from; i < run->from + run->n; i++) {
		const struct item *x = &p->t.items.v[i];
		bool any = false;

		if (x->f->status != ST_FAIL || x->of_shell || (explained && x->stage == id))
			continue;
		if ((id == S_REACH || explained) && p->culprits.n)
			continue;
		any = id >= S_REACH && blame_words(p, x->f->subject);
		for (size_t h = 0; !any && h < x->hosts.n; h++)
			any |= blame(p, x->hosts.v[h].name);
		p->unattributed |= !any;
	}
}

/* Those that can still be asked: answered, have an interface, and failed at nothing between. */
static void participants(struct preflight *p, enum stage_id id, host_list *ret)
{
	*ret = (host_list){0};
	for (size_t i = 0; i < p->usable.n; i++)
		if (id <= S_REACH || !names_has(&p->blamed, p->usable.v[i]))
			LIST_ADD(p->a, ret)->name = p->usable.v[i];
}

static const char *first_reason(const struct preflight *p)
{
	for (enum stage_id id = 0; id < S_COUNT; id++)
		if (p->run[id].because)
			return p->run[id].because;
	return NULL;
}

/* One host has nobody to be tested with; alone, it tests the rest as well. */
static void note_lone(struct preflight *p, enum stage_id id, const char *why)
{
	struct finding *f = preflight_note(p, id);

	finding_set(f, ST_SKIP, "not reached%s%s", why ? " because " : "",
		    why ? why : ": it takes two hosts");
	if (!why && id == S_COLLECTIVES && p->hosts.n == 1)
		finding_fix(
			f, "%s   # that host alone: collectives and training too",
			typed_there(p->a, rsh_typed(p->a, p->rsh), p->hosts.v[0].name, "windsock"));
}

/* True: a second look explains what failed. */
static bool run_across(struct preflight *p, enum stage_id id)
{
	const char *command = stages[id].command, *hosts, *why = first_reason(p);
	host_list some;

	participants(p, id, &some);
	hosts = some.n ? hostlist_fold(p->a, &some) : "";
	if (some.n < 2)
		note_lone(p, id, why);
	else if (p->crew && id == S_PATHS)
		finding_set(
			preflight_note(p, id), ST_SKIP,
			"not asked of hosts that joined: reach and training take the same ways");
	else if (!p->crew && id >= S_COLLECTIVES && part_find(p->a, command) &&
		 !part_knows(command, "--hosts", p->deadline_ns, p->a))
		finding_set(preflight_note(p, id), ST_SKIP,
			    "not tested between hosts: this %s has no --hosts", command);
	else if (id >= S_PAIRS)
		preflight_full(p, id, hosts, some.n);
	else if (!p->crew && id < S_COLLECTIVES && preflight_groups(some.n) > 1)
		preflight_run_groups(p, id, &some);
	else if (p->crew)
		cJSON_Delete(crew_run(p->crew, id, true));
	else if (id == S_REACH)
		preflight_reach(p, preflight_args(p, id, hosts));
	else
		preflight_run_part(p, id, preflight_args(p, id, hosts));
	if (!p->crew && id == S_PATHS && some.n > 1)
		preflight_published(p, &some);
	preflight_measure_again(p, id, hosts, some.n);
	return preflight_look_again(p, id, hosts);
}

/* What a run of it left in @p that a second one must not find. */
static void forget(struct preflight *p, const struct preflight *was, enum stage_id id)
{
	p->culprits = was->culprits;
	p->curve = was->curve;
	p->absent = was->absent;
	p->run[id] = was->run[id];
	cJSON_DeleteItemFromObjectCaseSensitive(preflight_parts(p), stages[id].name);
}

/* What a host's own name means ifprobe has said of it: portcheck looks at it for those who use that
 * alone. */
static void tell_names_once(struct preflight *p, size_t from)
{
	struct names told = {0};

	for (size_t i = 0; i < p->t.items.n; i++) {
		struct item *x = &p->t.items.v[i];
		/* what this host says between them has no host */
		const char *who = x->f->host ?: preflight_asked(p, p->t.own ?: "");

		if (x->f->status != ST_WARN)
			continue;
		if (i < from && streq(x->f->check, "host.name"))
			names_add(&told, p->a, who);
		else if (i >= from && streq(x->f->check, "mesh.name"))
			x->retold = streq(x->f->subject ?: "", who) && names_has(&told, who);
	}
}

static bool has_fix(const struct preflight *p, const struct item *x, const char *fix,
		    const char *of)
{
	const char *here = p->t.own ?: "", *at = x->f->host ?: here;

	for (size_t i = 0; i < x->f->fix.n; i++)
		if (fix_is_same(x->f->fix.v[i], at, fix, of ?: here))
			return true;
	return false;
}

/* Does portcheck's matrix, before it, ask for the same line? */
static bool mesh_needs(const struct preflight *p, size_t before, const char *fix, const char *of)
{
	for (size_t i = 0; i < before; i++) {
		const struct item *x = &p->t.items.v[i];

		if (x->f->status == ST_WARN && streq(x->f->check, "mesh.mtu") &&
		    has_fix(p, x, fix, of))
			return true;
	}
	return false;
}

/* Whose MTU is another one portcheck has said, and what comes of it: ifprobe, of the interfaces
 * that it would choose, says more only where they are others. */
static void tell_mtu_once(struct preflight *p, size_t from)
{
	for (size_t i = from; i < p->t.items.n; i++) {
		struct item *x = &p->t.items.v[i];
		bool all = x->f->status == ST_WARN && streq(x->f->check, "link.mtu") && x->f->fix.n;

		for (size_t k = 0; all && k < x->f->fix.n; k++)
			all = mesh_needs(p, from, x->f->fix.v[k], x->f->host);
		x->retold |= all;
	}
}

static bool run_carried(struct preflight *p, enum stage_id id)
{
	bool found = false;

	for (unsigned n = 0; preflight_carried(p, id); n++) {
		const struct preflight was = *p;

		found = run_across(p, id);
		if (!preflight_uncarried(p, id, was.t.items.n, n == 0))
			return found;
		forget(p, &was, id);
		preflight_size_up(p, id); /* there is less time than before */
	}
	return found;
}

static void blame_culprits(struct preflight *p)
{
	for (size_t i = 0; i < p->culprits.n; i++)
		p->unattributed |= !blame(p, p->culprits.v[i]);
}

void preflight_between(struct preflight *p)
{
	for (enum stage_id id = S_HOSTS; id < S_REACH; id++)
		if (p->run[id].done)
			blame_stage(p, id, false);
	for (enum stage_id id = S_REACH; id < S_BASELINE; id++) {
		bool found;

		if (stages[id].tier > p->tier)
			continue;
		found = preflight_gate(p, id) && run_carried(p, id);
		if (id == S_REACH)
			tell_names_once(p, p->run[id].from);
		if (id == S_PATHS)
			tell_mtu_once(p, p->run[id].from);
		preflight_advise_logins(p, p->run[id].from);
		preflight_finish(p, id);
		blame_stage(p, id, found);
		if (found || id == S_REACH)
			blame_culprits(p);
	}
}
