#include "probes/preflight/diff.h"

#include "lib/report/envelope.h"
#include "lib/report/json.h"
#include "lib/report/typed.h"
#include "probes/preflight/diff_index.h"
#include "probes/preflight/diff_own.h"
#include "probes/preflight/diff_tested.h"
#include "probes/preflight/drift_values.h"
#include "probes/tally/subject.h"

struct finding *diff_note(struct compared *c, const char *check, const char *subject,
			  enum status st)
{
	static const char *const measures[] = {"diff.bandwidth", "diff.latency", "diff.pace"};
	struct finding *f = tally_add(c->t, c->stage, "diff", check, subject);
	bool is_measure = false; /* which is never quite the same */

	for (size_t i = 0; i < ARRAY_LEN(measures); i++)
		is_measure |= streq(check, measures[i]);
	c->changed += !is_measure;
	f->status = st;
	return f;
}

/* ---- findings ---- */

static int weight(const char *status)
{
	return streq(status, "fail")	? 3
	       : streq(status, "error") ? 2
	       : streq(status, "warn")	? 1
					: 0;
}

static bool was_tested(const cJSON *f) { return f && !streq(json_text(f, "status"), "skip"); }

static void take_fixes(struct finding *to, const cJSON *from)
{
	fix_from_json(from, to->a, &to->fix);
}

/* What one host had: of many that had the same it is one line for people. */
static struct finding *note_of(struct compared *c, const char *check, const char *subject,
			       const char *host, enum status st)
{
	struct finding *f = diff_note(c, check, subject, st);

	if (*host) /* the runs are gone before the report is told */
		tally_of_host(c->t, arena_strdup(c->t->a, host));
	return f;
}

/* Who only told it, in @of, is not named as if something were wrong with it. */
static struct finding *note_like(struct compared *c, const char *check, const struct told *of,
				 const cJSON *f, enum status st)
{
	const char *subject = json_text(f, "subject"), *host = subject_host(of->doc, &of->hosts, f);

	subject = streq(subject, host) ? "" : subject;
	return note_of(c, check,
		       arena_printf(c->t->a, "%s%s%s", json_text(f, "check"), *subject ? " " : "",
				    subject),
		       host, st);
}

static void compare_finding(struct compared *c, const cJSON *before, const cJSON *f)
{
	const char *st = json_text(f, "status"),
		   *was = before ? json_text(before, "status") : "absent";
	struct finding *g;

	if (weight(st) > weight(was)) {
		g = note_like(c, "diff.worse", &c->now, f, weight(st) == 1 ? ST_WARN : ST_FAIL);
		finding_set(g, g->status, "%s now, was %s: %s", st, was, json_text(f, "message"));
		take_fixes(g, f);
	} else if (weight(was) > weight(st) && was_tested(f)) {
		g = note_like(c, "diff.better", &c->now, f, ST_PASS);
		finding_set(g, ST_PASS, "%s now, was %s: %s", st, was,
			    json_text(before, "message"));
	} else if (was_tested(before) && !was_tested(f)) {
		g = note_like(c, "diff.untested", &c->now, f, ST_WARN);
		finding_set(g, ST_WARN, "not tested now: %s", json_text(f, "message"));
	} else {
		c->same++;
	}
}

/* What a run said against its own baseline is about yet another run. */
static bool is_of_run(const cJSON *f) { return !starts_with(json_text(f, "check"), "diff."); }

static bool is_alone(const cJSON *doc)
{
	return !cJSON_GetArraySize(json_get(doc, "nodes")) &&
	       !json_get(json_get(doc, "data"), "passing_nodes") &&
	       !json_get(json_get(doc, "data"), "world");
}

/* What was wrong then and is not said now. */
static void compare_gone(struct compared *c, const struct diff_tested *tested, const cJSON *f,
			 const char *host)
{
	struct finding *g;

	if (diff_was_tested(tested, f, host)) {
		g = note_like(c, "diff.better", &c->then, f, ST_PASS);
		finding_set(g, ST_PASS, "is not said any more: %s", json_text(f, "message"));
	} else {
		g = note_like(c, "diff.untested", &c->then, f, ST_WARN);
		finding_set(g, ST_WARN, "not tested now, was %s: %s", json_text(f, "status"),
			    json_text(f, "message"));
	}
}

static void compare_findings(struct compared *c, const cJSON *old, const cJSON *now)
{
	const cJSON *was = json_get(old, "findings"), *is = json_get(now, "findings"), *f;
	/* of two runs on one host each, the one host is compared with the other */
	const char *then_own = is_alone(old) && is_alone(now) ? json_text(old, "host") : NULL;
	const char *own = then_own ? json_text(now, "host") : NULL;
	struct diff_index before, after;
	struct diff_tested tested;

	diff_index_init(&before, c->t->a, was, then_own);
	diff_index_init(&after, c->t->a, is, own);
	/* what is wrong finds its like first: a page of very many hosts has nothing else */
	for (int wrong = 1; wrong >= 0; wrong--)
		cJSON_ArrayForEach (f, is)
			if (is_of_run(f) && (weight(json_text(f, "status")) > 0) == wrong)
				compare_finding(c, diff_index_take(&before, f, own), f);
	if (!streq(json_text(json_get(old, "data"), "tier"),
		   json_text(json_get(now, "data"), "tier")))
		return; /* what was not run has not become well */
	diff_tested_init(&tested, c->t->a, old, now);
	cJSON_ArrayForEach (f, was) {
		const char *host = json_text(f, "host");

		if (!is_of_run(f) || !weight(json_text(f, "status")) ||
		    diff_index_take(&after, f, then_own) ||
		    (!own && *host && !names_has(&c->now.hosts, host) &&
		     !streq(host, json_text(now, "host"))))
			continue; /* nor has a host that was left out */
		compare_gone(c, &tested, f, own && streq(host, then_own) ? own : host);
	}
}

/* Those of @of that are not in @other; NULL: none. */
static const char *only_in(struct compared *c, const struct names *of, const struct names *other)
{
	host_list only = {0};

	for (size_t i = 0; i < of->size; i++)
		if (of->slots[i] && !names_has(other, of->slots[i]))
			LIST_ADD(c->t->a, &only)->name = of->slots[i];
	return only.n ? names_fold(c->t->a, &only) : NULL;
}

static void compare_hosts(struct compared *c)
{
	const struct names *then = &c->then.hosts, *now = &c->now.hosts;
	const char *gone = only_in(c, then, now), *new = only_in(c, now, then);

	if (gone)
		finding_set(diff_note(c, "diff.host", gone, ST_INFO), ST_INFO,
			    "was in the run of then, and is not in this one");
	if (new)
		finding_set(diff_note(c, "diff.host", new, ST_INFO), ST_INFO,
			    "was not in the run of then");
}

/* ---- what hosts are ---- */

/* As hosts' differences word it. */
static const char *worded(struct arena *a, const cJSON *v)
{
	const struct drift_kind *k = drift_kind_of(v->string);
	struct drift_value read;

	return k && drift_read(a, k, v, &read) ? read.text
	       : cJSON_IsString(v)	       ? v->valuestring
					       : arena_printf(a, "%.12g", cJSON_GetNumberValue(v));
}

/* No more is asked of one host at two times than of two at one. What is measured is not measured
 * in every run. */
static bool is_alike(struct arena *a, const cJSON *was, const cJSON *is)
{
	const struct drift_kind *k = drift_kind_of((is ?: was)->string);
	struct drift_value x, y;

	if (!was || !is)
		return k && k->type == RATE;
	if (k && drift_read(a, k, was, &x) && drift_read(a, k, is, &y))
		return drift_alike(k, &x, &y);
	return cJSON_Compare(was, is, true);
}

/* @was, @is: NULL: it is not there. */
static void compare_fact(struct compared *c, const char *host, const cJSON *was, const cJSON *is)
{
	const cJSON *v = is ?: was;
	struct finding *f;

	if (streq(v->string, "clock") || streq(v->string, "same_files") || cJSON_IsArray(v) ||
	    is_alike(c->t->a, was, is))
		return;
	if (cJSON_IsObject(v)) { /* digests of --same */
		if (!was || !is)
			return; /* it was not asked for */
		f = note_of(c, "diff.fact", "contents", host, ST_INFO);
		finding_set(f, ST_INFO, "what --same looks at has changed");
		return;
	}
	f = note_of(c, "diff.fact", v->string, host, ST_INFO);
	if (!is)
		finding_set(f, ST_INFO, "gone now, was %s", worded(c->t->a, was));
	else if (!was)
		finding_set(f, ST_INFO, "%s, was not there", worded(c->t->a, is));
	else
		finding_set(f, ST_INFO, "%s, was %s", worded(c->t->a, is), worded(c->t->a, was));
}

/* @more: what is there now alone is news, and not what a newer windsock looks at. */
static void compare_objects(struct compared *c, const char *host, const cJSON *old,
			    const cJSON *now, bool more)
{
	const cJSON *v;

	if (!cJSON_IsObject(old) || !cJSON_IsObject(now))
		return; /* a run that did not come so far says nothing of it */
	cJSON_ArrayForEach (v, now)
		if (more || json_get(old, v->string))
			compare_fact(c, host, json_get(old, v->string), v);
	cJSON_ArrayForEach (v, old)
		if (!json_get(now, v->string))
			compare_fact(c, host, v, NULL);
}

/* What a host says of itself, and what its GPUs stage found. */
static void compare_facts(struct compared *c, const char *host, const cJSON *old, const cJSON *now)
{
	const cJSON *was = json_get(old, "facts"), *is = json_get(now, "facts");
	bool more = streq(json_text(was, "windsock"), json_text(is, "windsock"));

	compare_objects(c, host, was, is, more);
	compare_objects(c, host, json_get(json_get(old, "host"), "facts"),
			json_get(json_get(now, "host"), "facts"), more);
}

void runs_diff(struct tally *t, unsigned stage, const cJSON *old, const cJSON *now)
{
	static const char *const sweeps[] = {"collectives", "sweep"};
	bool alone = streq(json_text(now, "command"), "ncclbench");
	struct compared c = {.t = t, .stage = stage, .then = {.doc = old}, .now = {.doc = now}};
	size_t from = t->items.n;
	struct diff_nodes nodes;
	const cJSON *n;

	run_hosts(old, t->a, &c.then.hosts);
	run_hosts(now, t->a, &c.now.hosts);
	compare_hosts(&c);
	compare_findings(&c, old, now);
	for (size_t i = 0; i < (alone ? 1 : ARRAY_LEN(sweeps)); i++)
		diff_sweep(&c, sweeps[i], envelope_part(old, sweeps[i], "ncclbench"),
			   envelope_part(now, sweeps[i], "ncclbench"));
	diff_pace(&c, envelope_part(old, "training", "ddpsmoke"),
		  envelope_part(now, "training", "ddpsmoke"));
	compare_facts(&c, json_text(now, "host"), json_get(old, "data"), json_get(now, "data"));
	nodes_init(&nodes, t->a, json_get(old, "nodes"));
	cJSON_ArrayForEach (n, json_get(now, "nodes")) {
		const cJSON *before = nodes_find(&nodes, json_text(n, "host"));

		if (before)
			compare_facts(&c, json_text(n, "host"), json_get(before, "data"),
				      json_get(n, "data"));
	}
	if (tally_status(t, from, t->items.n) == ST_SKIP || c.same)
		finding_set(tally_add(t, stage, "diff", "diff.same", "checks"), ST_PASS,
			    "%zu came to the same, %zu differ%s", c.same, c.changed,
			    c.changed == 1 ? "s" : "");
}
