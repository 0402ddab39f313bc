/*
 * What is looked at twice.
 *
 * A host that was silent while all reached for all may have been busy: one run is a
 * suspicion, two are a finding.
 *
 * A rank that computed slowly shared its processors with something, perhaps: once is a
 * remark.
 *
 * Packets were lost in a collective, which knows of ways alone: pairs tell whose they are.
 *
 * Ranks were lost where every way was well before: are the ways still there? A node
 * that vanishes in the middle is then the first cause, and not whoever noticed it. So
 * where a stage may have hung when the budget ended it.
 */
#include "lib/core/interrupt.h"
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

/* What the first run found stays where the second one comes to nothing. */
static enum status second_run(struct preflight *p, const char *const *args)
{
	const char *name = stages[S_REACH].name;
	cJSON *parts = preflight_parts(p);
	cJSON *was = cJSON_DetachItemFromObjectCaseSensitive(parts, name);
	size_t from = p->t.items.n;
	str_list culprits = p->culprits;
	enum status st;

	p->culprits = (str_list){0};
	preflight_run_part(p, S_REACH, args);
	st = tally_status(&p->t, from, p->t.items.n);
	if (st == ST_ERROR || st == ST_SKIP)
		p->culprits = culprits;
	if (was && !json_get(parts, name))
		cJSON_AddItemToObject(parts, name, was);
	else
		cJSON_Delete(was);
	return st;
}

void preflight_reach(struct preflight *p, const char *const *args)
{
	size_t from = p->t.items.n;
	struct finding *lost;
	enum status st;

	preflight_run_part(p, S_REACH, args);
	lost = lost_run(p, from);
	if (!lost || interrupt_pending() || !preflight_cap(p, S_REACH))
		return;
	st = second_run(p, args);
	if (st == ST_PASS || st == ST_WARN)
		finding_set(lost, ST_WARN, "%s (in the first of two runs; not in the second)",
			    lost->message);
}

static cJSON *run_again(struct preflight *p, enum stage_id id, const char *hosts)
{
	return p->crew ? crew_run(p->crew, id, false)
		       : preflight_run_doc(p, id, preflight_args(p, id, hosts), false);
}

/* One that was cut short itself knows of nothing that is wrong, and that is no answer. */
static bool is_conclusive(const cJSON *doc)
{
	return !streq(json_get_str(doc, "verdict") ?: "error", status_name(ST_ERROR));
}

/* NULL: there is none. */
static struct item *warning(const struct preflight *p, size_t from, const char *check)
{
	for (size_t i = from; i < p->t.items.n; i++) {
		struct item *x = &p->t.items.v[i];

		if (x->f->status == ST_WARN && streq(x->f->check, check))
			return x;
	}
	return NULL;
}

/* How fast they were in this run; NULL: it did not come so far, or was cut short before. */
static const cJSON *pace_in(const cJSON *doc)
{
	const cJSON *f;

	cJSON_ArrayForEach (f, json_get(doc, "findings"))
		if (streq(json_text(f, "check"), "train.pace"))
			return f;
	return NULL;
}

/* The same rank, or that host as a whole. */
static bool is_slow_in(const struct preflight *p, const cJSON *doc, const struct finding *f)
{
	const cJSON *pace = pace_in(doc);
	int rank = json_get_int(pace, "rank", -1);

	return streq(json_text(pace, "status"), status_name(ST_WARN)) &&
	       streq(preflight_whose(p, doc, pace) ?: "", f->host ?: "") &&
	       (rank == f->rank || rank < 0 || f->rank < 0);
}

static void pace_again(struct preflight *p, const char *hosts)
{
	const struct item *slow = warning(p, p->run[S_TRAINING].from, "train.pace");
	struct finding *f = slow ? slow->f : NULL;
	cJSON *doc;

	if (!f || interrupt_pending())
		return;
	if (p->one_machine) {
		finding_set(f, ST_INFO, "%s (not judged: these hosts share a machine)", f->message);
		f->fix.n = 0;
	}
	if (p->one_machine || !preflight_cap(p, S_TRAINING))
		return;
	doc = run_again(p, S_TRAINING, hosts);
	if (pace_in(doc) && is_slow_in(p, doc, f)) {
		finding_set(f, ST_WARN, "%s, in both of two runs", f->message);
	} else if (pace_in(doc)) {
		finding_set(f, ST_INFO, "%s, in the first of two runs; not in the second",
			    f->message);
		f->fix.n = 0;
	}
	cJSON_Delete(doc);
}

static bool is_loss(const cJSON *f, bool of_link)
{
	return streq(json_text(f, "check"), "pair.loss") &&
	       !streq(json_text(f, "status"), status_name(ST_PASS)) &&
	       of_link == (strstr(json_text(f, "subject"), "->") != NULL);
}

/* Who loses, or that all do, by pairs; a link where no node does, since else it is one of his. */
static bool take_losses(struct preflight *p, const cJSON *doc)
{
	size_t before = p->t.items.n;
	const cJSON *f;

	for (int of_link = 0; of_link < 2 && p->t.items.n == before; of_link++)
		cJSON_ArrayForEach (f, json_get(doc, "findings"))
			if (is_loss(f, of_link))
				tally_take(&p->t, S_COLLECTIVES, stages[S_COLLECTIVES].name, NULL,
					   f);
	return p->t.items.n > before;
}

static void loss_again(struct preflight *p, const char *hosts, size_t n)
{
	const struct item *lossy = warning(p, p->run[S_COLLECTIVES].from, "coll.loss");
	struct finding *f = lossy ? lossy->f : NULL;
	cJSON *doc;

	/* the whole tier measures pairs anyway, and of many hosts they take long */
	if (!f || p->tier == TIER_FULL || n > PREFLIGHT_FEW || interrupt_pending() ||
	    !preflight_cap(p, S_SLOW))
		return;
	doc = run_again(p, S_SLOW, hosts);
	if (doc)
		preflight_as_asked(p, doc);
	if (take_losses(p, doc))
		warning(p, p->run[S_COLLECTIVES].from, "coll.loss")->retold = true;
	else if (doc && is_conclusive(doc))
		finding_set(f, ST_INFO, "%s; but nothing is lost between pairs of hosts",
			    f->message);
	cJSON_Delete(doc);
}

/* The collectives see that one is waited for, and not whether its node or a link is slow. */
static void advise_pairs(const struct preflight *p)
{
	const struct item *slow = warning(p, p->run[S_COLLECTIVES].from, "rank.straggler");
	const str_list fix = slow ? slow->f->fix : (str_list){0};

	if (!slow || !p->given || p->tier == TIER_FULL || strlen(p->given) > PREFLIGHT_NAMES)
		return;
	slow->f->fix = (str_list){0};
	finding_fix(slow->f,
		    "windsock --full %s   # measures every pair: is it that node, or a link?",
		    preflight_to(p, p->given));
	for (size_t i = 0; i < fix.n; i++)
		if (!strstr(fix.v[i], "--find-slow")) /* which is a part of it */
			finding_fix(slow->f, "%s", fix.v[i]);
}

void preflight_measure_again(struct preflight *p, enum stage_id id, const char *hosts, size_t n)
{
	if (id == S_COLLECTIVES) {
		loss_again(p, hosts, n);
		advise_pairs(p);
	}
	if (id == S_TRAINING)
		pace_again(p, hosts);
}

static bool was_well(const struct preflight *p, enum stage_id id)
{
	return p->run[id].done && !p->run[id].cut &&
	       (p->run[id].status == ST_PASS || p->run[id].status == ST_WARN);
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

static const char *what_happened(const struct preflight *p, enum stage_id id)
{
	if (!p->run[id].may_hang)
		return arena_printf(p->a, "%s failed", stages[id].title);
	return arena_printf(p->a, "stage %s %s", stages[id].name,
			    p->run[id].came_to_nothing ? "came to nothing" : "did not end");
}

/* Is it worth a second look, and can there be one? */
static bool can_look(const struct preflight *p, enum stage_id id)
{
	if (id < S_COLLECTIVES || !was_well(p, S_REACH) || p->grouped || interrupt_pending())
		return false;
	return lost_ranks(p, id) ? preflight_cap(p, S_REACH) > 0
				 : p->run[id].may_hang && preflight_fits_again(p, S_REACH);
}

/* What the second look says, in the stage of the first: it ranks before what it explains. */
static size_t take_failures(struct preflight *p, enum stage_id id, const cJSON *doc)
{
	const char *own = json_get_str(doc, "host");
	const cJSON *f;
	size_t n = 0;

	cJSON_ArrayForEach (f, json_get(doc, "findings")) {
		const char *host = json_get_str(f, "host");
		size_t before = p->t.items.n;
		struct finding *x;

		if (!streq(json_text(f, "status"), status_name(ST_FAIL)))
			continue;
		tally_take(&p->t, S_REACH, stages[S_REACH].name,
			   host && own && !streq(host, own) ? host : NULL, f);
		if (p->t.items.n == before)
			continue; /* it was none */
		x = p->t.items.v[before].f;
		finding_set(x, ST_FAIL, "%s (after the %s; before %s it was well)", x->message,
			    what_happened(p, id), p->run[id].may_hang ? "that" : "them");
		n++;
	}
	return n;
}

bool preflight_look_again(struct preflight *p, enum stage_id id, const char *hosts)
{
	cJSON *doc;
	size_t n;

	if (!can_look(p, id))
		return false;
	doc = run_again(p, S_REACH, hosts);
	if (!doc)
		return false;
	p->culprits = (str_list){0};
	preflight_find_culprits(p, json_get(json_get(doc, "data"), "matrix"));
	n = take_failures(p, id, doc);
	if (!n && is_conclusive(doc))
		finding_set(preflight_note(p, S_REACH), ST_INFO,
			    "tested again after the %s: every way is still there",
			    what_happened(p, id));
	cJSON_Delete(doc);
	return n > 0;
}
