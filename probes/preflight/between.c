/* What is between hosts: ports, ways, collectives, training; and whose fault it is. */
#include "lib/report/json.h"
#include "probes/iface/fleet.h"
#include "probes/preflight/crew.h"
#include "probes/preflight/preflight.h"

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

/* A subject may be one host, a folded list, or a pair with an arrow between. */
static bool blame_words(struct preflight *p, const char *subject)
{
	bool any = false;

	for (size_t n; subject && *subject; subject += n) {
		host_list named = {0};
		struct err ignored = {0};

		subject += strspn(subject, " ");
		n = strcspn(subject, " ");
		if (!n || hostlist_parse(arena_strndup(p->a, subject, n), p->a, &named, &ignored))
			continue;
		for (size_t i = 0; i < named.n; i++)
			any |= blame(p, named.v[i].name);
	}
	return any;
}

/* ---- from the matrix: the fewest hosts that explain all bad pairs ---- */

static bool is_bad(const cJSON *cell)
{
	const char *v = cJSON_GetStringValue(cell);

	return v && !streq(v, "ok") && !streq(v, "self") && !streq(v, "unknown");
}

static size_t bad_of(const bool *bad, size_t n, size_t host)
{
	size_t found = 0;

	for (size_t k = 0; k < n; k++)
		found += bad[host * n + k] + bad[k * n + host];
	return found;
}

static bool *bad_pairs(struct arena *a, const cJSON *cells, size_t n)
{
	bool *bad = arena_alloc(a, n * n * sizeof(*bad));
	const cJSON *line, *cell;
	size_t y = 0;

	cJSON_ArrayForEach (line, cells) {
		size_t x = 0;

		cJSON_ArrayForEach (cell, line) {
			if (x < n && y < n)
				bad[y * n + x] = is_bad(cell);
			x++;
		}
		y++;
	}
	return bad;
}

/* Those with the most; of a pair that fails alone either may be the one, so both are named. */
static bool name_worst(struct preflight *p, bool *bad, const cJSON *hosts, size_t n)
{
	size_t *counts = arena_alloc(p->a, n * sizeof(*counts)), most = 0;

	for (size_t i = 0; i < n; i++) {
		counts[i] = bad_of(bad, n, i);
		most = counts[i] > most ? counts[i] : most;
	}
	for (size_t i = 0; most && i < n; i++) {
		const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(hosts, (int)i));

		if (counts[i] != most)
			continue;
		if (name)
			*LIST_ADD(p->a, &p->culprits) = arena_strdup(p->a, name);
		for (size_t k = 0; k < n; k++)
			bad[i * n + k] = bad[k * n + i] = false;
	}
	return most > 0;
}

void preflight_find_culprits(struct preflight *p, const cJSON *matrix)
{
	const cJSON *hosts = json_get(matrix, "hosts");
	size_t n = (size_t)cJSON_GetArraySize(hosts);
	bool *bad;

	if (!n)
		return;
	bad = bad_pairs(p->a, json_get(matrix, "cells"), n);
	while (name_worst(p, bad, hosts, n))
		;
}

/* The subject of what failed between hosts is the culprit; who said so is only a witness.
 * @explained: by a second look at an earlier stage, which names them. */
static void blame_stage(struct preflight *p, enum stage_id id, bool explained)
{
	const struct stage_run *run = &p->run[id];

	for (size_t i = run->from; i < run->from + run->n; i++) {
		const struct item *x = &p->t.items.v[i];
		bool any = false;

		if (x->f->status != ST_FAIL || (explained && x->stage == id))
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

/* True: a second look explains what failed. */
static bool run_across(struct preflight *p, enum stage_id id)
{
	const char *command = stages[id].command, *hosts, *why = first_reason(p);
	host_list some;

	participants(p, id, &some);
	hosts = some.n ? hostlist_fold(p->a, &some) : "";
	if (some.n < 2)
		finding_set(preflight_note(p, id), ST_SKIP, "not reached%s%s",
			    why ? " because " : "", why ? why : ": it takes two hosts");
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
	return preflight_look_again(p, id, hosts);
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
		found = preflight_gate(p, id) && run_across(p, id);
		preflight_finish(p, id);
		blame_stage(p, id, found);
		if (found || id == S_REACH)
			blame_culprits(p);
	}
}
