/*
 * What is looked at twice.
 *
 * A host that was silent while all reached for all may have been busy: one run is a
 * suspicion, two are a finding.
 *
 * Ranks were lost where every way was well before: are the ways still there? A node
 * that vanishes in the middle is then the first cause, and not whoever noticed it.
 */
#include "lib/report/json.h"
#include "probes/preflight/crew.h"
#include "probes/preflight/preflight.h"

/* The failure of the run itself, where it is the only one; NULL: there is none, or more. */
static struct finding *lost_run(const struct preflight *p, size_t from)
{
	struct finding *lost = NULL;

	for (size_t i = from; i < p->t.items.n; i++) {
		struct finding *f = p->t.items.v[i].f;

		if (f->status != ST_FAIL)
			continue;
		if (lost || !streq(f->check, "mesh.run"))
			return NULL;
		lost = f;
	}
	return lost;
}

void preflight_reach(struct preflight *p, const char *const *args)
{
	size_t from = p->t.items.n, second;
	struct finding *lost;

	preflight_run_part(p, S_REACH, args);
	lost = lost_run(p, from);
	if (!lost || !preflight_cap(p, S_REACH))
		return;
	if (preflight_wants_data(p))
		cJSON_DeleteItemFromObjectCaseSensitive(preflight_parts(p), stages[S_REACH].name);
	p->culprits = (str_list){0};
	second = p->t.items.n;
	preflight_run_part(p, S_REACH, args);
	if (tally_status(&p->t, second, p->t.items.n) == ST_PASS ||
	    tally_status(&p->t, second, p->t.items.n) == ST_WARN)
		finding_set(lost, ST_WARN, "%s (in the first of two runs; not in the second)",
			    lost->message);
}

static bool was_well(const struct preflight *p, enum stage_id id)
{
	return p->run[id].done && (p->run[id].status == ST_PASS || p->run[id].status == ST_WARN);
}

static bool lost_ranks(const struct preflight *p, enum stage_id id)
{
	for (size_t i = p->run[id].from; i < p->t.items.n; i++) {
		const struct finding *f = p->t.items.v[i].f;

		if (f->status == ST_FAIL && starts_with(f->check, "rank."))
			return true;
	}
	return false;
}

/* What the second look says, in the stage of the first: it ranks before what it explains. */
static size_t take_failures(struct preflight *p, enum stage_id id, const cJSON *doc)
{
	const char *own = json_get_str(doc, "host");
	const cJSON *f;
	size_t n = 0;

	cJSON_ArrayForEach (f, json_get(doc, "findings")) {
		const char *host = json_get_str(f, "host");
		struct finding *x;

		if (!streq(json_get_str(f, "status") ?: "", status_name(ST_FAIL)))
			continue;
		tally_take(&p->t, S_REACH, stages[S_REACH].name,
			   host && own && !streq(host, own) ? host : NULL, f);
		x = p->t.items.v[p->t.items.n - 1].f;
		finding_set(x, ST_FAIL, "%s (after the %s failed; before them it was well)",
			    x->message, stages[id].title);
		n++;
	}
	return n;
}

bool preflight_look_again(struct preflight *p, enum stage_id id, const char *hosts)
{
	cJSON *doc;
	size_t n;

	if (id < S_COLLECTIVES || !was_well(p, S_REACH) || p->grouped || !lost_ranks(p, id) ||
	    !preflight_cap(p, S_REACH))
		return false;
	doc = p->crew ? crew_run(p->crew, S_REACH, false)
		      : preflight_run_doc(p, S_REACH, preflight_args(p, S_REACH, hosts), false);
	if (!doc)
		return false;
	p->culprits = (str_list){0};
	preflight_find_culprits(p, json_get(json_get(doc, "data"), "matrix"));
	n = take_failures(p, id, doc);
	if (!n)
		finding_set(preflight_note(p, S_REACH), ST_INFO,
			    "tested again after the %s failed: every way is still there",
			    stages[id].title);
	cJSON_Delete(doc);
	return n > 0;
}
