/* The pre-flight of many hosts: each looks at itself, all at once; then what is between them. */
#include "lib/core/interrupt.h"
#include "lib/core/units.h"
#include "lib/host/sysroot.h"
#include "lib/net/addr.h"
#include "lib/report/json.h"
#include "probes/iface/fleet.h"
#include "probes/node/facts.h"
#include "probes/preflight/crew.h"
#include "probes/preflight/drift.h"

#include <math.h>

const cJSON *answer_stage(const struct answer *a, enum stage_id id)
{
	const cJSON *s;

	cJSON_ArrayForEach (s, json_get(a->data, "stages"))
		if (streq(json_text(s, "name"), stages[id].name))
			return s;
	return NULL;
}

/* Its stage that the budget it was given had no room for. */
static bool did_not_fit(const struct answer *a, enum stage_id id)
{
	const cJSON *name;

	cJSON_ArrayForEach (name, json_get(a->data, "left_out"))
		if (cJSON_IsString(name) && streq(name->valuestring, stages[id].name))
			return true;
	return false;
}

/* Another host counted them. */
static size_t findings_of(const cJSON *stage)
{
	const double most = 1e6;
	double n = json_get_num(stage, "findings", 0);

	return n >= 0 && n <= most ? (size_t)n : 0;
}

/* Where in a node's findings a stage begins: they stand in the order of its stages. */
static size_t begin_of(const struct answer *a, enum stage_id id)
{
	const cJSON *s;
	size_t at = 0;

	cJSON_ArrayForEach (s, json_get(a->data, "stages")) {
		if (streq(json_text(s, "name"), stages[id].name))
			break;
		at += findings_of(s);
	}
	return at;
}

static void take_range(struct preflight *p, enum stage_id id, const struct answer *a, size_t from,
		       size_t n)
{
	const cJSON *f;
	size_t at = 0;

	cJSON_ArrayForEach (f, json_get(a->doc, "findings")) {
		if (at >= from && at - from < n)
			tally_take(&p->t, id, stages[id].name, a->host, f);
		at++;
	}
}

static void take_stage(struct preflight *p, enum stage_id id, const struct answers *all)
{
	p->run[id] = (struct stage_run){.begun = true, .from = p->t.items.n, .seconds = NAN};
	for (size_t i = 0; i < all->n; i++) {
		const struct answer *a = &all->v[i];

		if (a->doc)
			take_range(p, id, a, begin_of(a, id), findings_of(answer_stage(a, id)));
		p->run[id].cut |= did_not_fit(a, id);
	}
	if (id == S_INTERFACE) {
		drift_advise_address(p, all, p->run[id].from);
		drift_accept_meeting(p, all, p->run[id].from);
	}
	if (id == S_SETTINGS) {
		drift_advise_master(p, all, p->run[id].from);
		preflight_own_shell(p, all);
	}
	preflight_advise_logins(p, p->run[id].from);
	preflight_finish(p, id);
}

/* A host that came to nothing for lack of time is as little an error as a stage is. */
static void forgive_rest(struct preflight *p, size_t from)
{
	for (size_t i = from; i < p->t.items.n; i++) {
		struct finding *f = p->t.items.v[i].f;

		if (streq(f->check, "run"))
			preflight_forgive(f);
	}
}

/* Which of them came to the end of the budget that we gave them? */
static void say_short(struct preflight *p, const struct answers *all)
{
	host_list some = {0};
	struct finding *f;

	for (size_t i = 0; i < all->n; i++)
		if (cJSON_GetArraySize(json_get(all->v[i].data, "left_out")))
			LIST_ADD(p->a, &some)->name = all->v[i].host;
	if (!some.n)
		return;
	f = preflight_note(p, S_HOSTS);
	finding_set(f, ST_SKIP, "on %s not all of the tests fitted into the budget",
		    hostlist_fold(p->a, &some));
	preflight_advise_time(p, f);
}

/* It came to nothing since its commands failed: each of those has said why. */
static bool has_said_why(const struct answer *a)
{
	const cJSON *s;

	cJSON_ArrayForEach (s, json_get(a->data, "stages"))
		if (streq(json_text(s, "status"), status_name(ST_ERROR)))
			return true;
	return false;
}

/* What the node's run as a whole came to stands behind its stages. */
static void take_rest(struct preflight *p, const struct answers *all)
{
	say_short(p, all);
	for (size_t i = 0; i < all->n; i++) {
		const struct answer *a = &all->v[i];
		size_t from = p->t.items.n;

		if (!a->doc)
			continue;
		take_range(p, S_HOSTS, a, begin_of(a, S_COUNT - 1), SIZE_MAX);
		if (cJSON_GetArraySize(json_get(a->data, "left_out")) || has_said_why(a))
			forgive_rest(p, from);
		if (!p->absent && cJSON_IsTrue(json_get(a->data, "absent")))
			p->absent = arena_printf(p->a, "on %s something is not there", a->host);
	}
}

/* The fleet has reported them already: here for the ranking alone. */
static void note_lost(struct preflight *p, const struct fleet *f)
{
	for (size_t i = 0; i < f->lost.n; i++) {
		struct finding *x = tally_add(&p->t, S_HOSTS, "hosts", "host.answer", NULL);

		tally_of_host(&p->t, f->lost.v[i]);
		finding_set(x, f->why.v[i]->status, "gives no answer, nothing on it was tested: %s",
			    names_after(f->why.v[i]->message, f->lost.v[i]));
		for (size_t k = 0; k < f->why.v[i]->fix.n; k++)
			finding_fix(x, "%s", f->why.v[i]->fix.v[k]);
		finding_fix(x, "windsock --quick %s   # until it answers",
			    preflight_to(p, f->lost.v[i]));
	}
	p->t.emitted = p->t.items.n;
}

/* The tally has copies: of thousands of hosts these trees are most of what is held. */
static void drop_findings(const struct answers *all)
{
	for (size_t i = 0; i < all->n; i++)
		cJSON_DeleteItemFromObjectCaseSensitive(all->v[i].doc, "findings");
}

/* A host without a usable interface cannot take part in what is between hosts, nor one that no
 * other can speak to. */
static void choose_usable(struct preflight *p, const struct answers *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const char *st = json_get_str(answer_stage(&all->v[i], S_INTERFACE), "status");

		if (all->v[i].doc && (!st || !streq(st, "fail")) &&
		    !names_has(&p->alone, all->v[i].host) && !(p->crew && drift_is_twin(all, i)))
			*LIST_ADD(p->a, &p->usable) = all->v[i].host;
	}
}

static int by_text(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Namespaces and containers of one machine have one kernel. */
static bool share_machine(struct preflight *p, const struct answers *all)
{
	str_list boots = {0};

	for (size_t i = 0; i < all->n; i++) {
		const char *boot = json_get_str(all->v[i].data, "boot");

		if (boot)
			*LIST_ADD(p->a, &boots) = boot;
	}
	if (boots.n)
		qsort(boots.v, boots.n, sizeof(*boots.v), by_text);
	for (size_t i = 1; i < boots.n; i++)
		if (streq(boots.v[i - 1], boots.v[i]))
			return true;
	return false;
}

static cJSON *copy_of(const struct answer *a)
{
	return cJSON_IsObject(a->data) ? cJSON_Duplicate(a->data, true) : cJSON_CreateObject();
}

static void node_data(struct preflight *p, const struct answers *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].doc && preflight_wants_data(p))
			report_node(p->r, all->v[i].host, copy_of(&all->v[i]));
}

void preflight_ask_alike(const struct preflight *p, str_list *args)
{
	for (size_t i = 0; i < p->same.n; i++)
		*LIST_ADD(p->a, args) = arena_printf(p->a, "--same=%s", p->same.v[i]);
	if (p->master)
		*LIST_ADD(p->a, args) = arena_printf(p->a, "--master=%s", p->master);
}

static int ask(struct preflight *p, struct answers *all, struct err *e)
{
	struct fleet f = {.command = "windsock",
			  .mode = preflight_tier_word(p),
			  .carry = &p->carry,
			  .given = p->given,
			  .hosts = p->hosts,
			  .rsh = p->rsh,
			  .deadline_ns = p->deadline_ns,
			  .patience_ns = preflight_patience(p, S_HOSTS),
			  .a = p->a,
			  .report = p->r,
			  .fold = p->t.fold};
	uint64_t cap = preflight_host_cap(p); /* it answers before the fleet loses patience */
	str_list args = {0};

	*LIST_ADD(p->a, &args) = "--quick";
	*LIST_ADD(p->a, &args) = "--here";
	*LIST_ADD(p->a, &args) = "--asked";
	if (preflight_bursts(p))
		*LIST_ADD(p->a, &args) = "--burst";
	*LIST_ADD(p->a, &args) = arena_printf(p->a, "--deadline=%llums",
					      (unsigned long long)(p->deadline_ns / NS_PER_MS));
	*LIST_ADD(p->a, &args) =
		arena_printf(p->a, "--budget=%llums", (unsigned long long)(cap / NS_PER_MS + 1));
	preflight_ask_alike(p, &args);
	if (p->copy_self && preflight_carry(p, cap / 2, e))
		return -1;
	if (fleet_ask(&f, &args, false, all, e))
		return -1;
	note_lost(p, &f);
	if (!f.lost.n)
		finding_set(
			tally_add(&p->t, S_HOSTS, stages[S_HOSTS].name, "host.answer", "all hosts"),
			ST_PASS, "%zu answered", all->n);
	return 0;
}

static int conclude(struct preflight *p, const struct answers *all, double asked, double answered,
		    struct err *e)
{
	preflight_learn_names(p, all);
	preflight_count_gpus(p, all);
	take_rest(p, all);
	preflight_finish(p, S_HOSTS);
	if (all->n) {
		preflight_view(p, all);
		p->peers = drift_peer_args(p, all);
		for (enum stage_id id = S_INTERFACE; id <= S_PORTS; id++)
			take_stage(p, id, all);
		drop_findings(all);
		if (preflight_gate(p, S_DRIFT))
			preflight_drift(p, all, asked, answered);
		preflight_finish(p, S_DRIFT);
		choose_usable(p, all);
		preflight_find_published(p, all);
		p->one_machine = share_machine(p, all);
		node_data(p, all);
	}
	preflight_between(p);
	return preflight_conclude(p, e);
}

/* Where a job meets: what was given, else @first. An address needs no name. */
static void choose_master(struct preflight *p, const char *first)
{
	union addr a;

	p->master_given = p->master;
	p->master = p->master ?: (first ? host_bare(first) : NULL);
	if (p->master && !addr_parse(p->master, &a)) {
		p->master_at = p->master_given ? p->master : NULL;
		p->master = NULL;
	}
}

int preflight_hosts(struct preflight *p, struct err *e)
{
	AUTO(answers_done) struct answers all = {0};
	double asked = facts_clock();

	p->t.own = sysroot_hostname(p->a);
	p->way = (struct host_way){.rsh = p->rsh, .given = p->given, .n = p->hosts.n};
	p->t.way = &p->way;
	p->width = p->hosts.n;
	choose_master(p, p->hosts.v[0].name); /* as launchers have it */
	if (preflight_gate(p, S_HOSTS) && ask(p, &all, e))
		return -1;
	return conclude(p, &all, asked, facts_clock(), e);
}

int preflight_crew(struct preflight *p, bool *ret_leads, struct err *e)
{
	AUTO(answers_done) struct answers all = {0};
	double asked = facts_clock();
	struct crew *c = crew_join(p, e);
	int rc;

	if (!c)
		return -1;
	choose_master(p, NULL);
	*ret_leads = crew_leads(c);
	p->crew = c;
	p->t.own = sysroot_hostname(p->a);
	(void)preflight_gate(p, S_HOSTS);
	rc = crew_ask(c, &all, e);
	if (!rc && crew_leads(c)) {
		rc = conclude(p, &all, asked, facts_clock(), e);
		crew_finish(c);
	} else if (!rc) {
		rc = crew_follow(c, e);
	}
	crew_leave(c, NULL);
	return rc;
}
