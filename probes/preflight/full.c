/* What --full adds: who is slow, measured twice; a sweep as long as its part of the time lets it
 * be; training against what was measured below it. */
#include "lib/core/units.h"
#include "lib/report/json.h"
#include "probes/preflight/crew.h"
#include "probes/preflight/preflight.h"

#define SWEEP_WITHIN 0.6 /* of the stage's time: the rest is for starting, and for bad luck */
static const uint64_t COLLECTIVES_NS = 20 * NS_PER_S; /* a slow network shows it in that time */

/* ---- the collectives' times ---- */

static void add_point(struct preflight *p, double bytes, double seconds)
{
	struct curve_point *at;

	for (size_t i = 0; i < p->curve.n; i++)
		if (p->curve.v[i].bytes == bytes) {
			p->curve.v[i].seconds =
				seconds > p->curve.v[i].seconds ? seconds : p->curve.v[i].seconds;
			return;
		}
	at = LIST_ADD(p->a, &p->curve);
	*at = (struct curve_point){bytes, seconds};
	for (; at > p->curve.v && at[-1].bytes > bytes; at--) {
		at[0] = at[-1];
		at[-1] = (struct curve_point){bytes, seconds};
	}
}

void preflight_take_curve(struct preflight *p, const cJSON *data)
{
	enum { POINTS_MAX = 4096 };
	const cJSON *row;

	p->curve.n = 0;
	cJSON_ArrayForEach (row, json_get(data, "results")) {
		double bytes = json_get_num(row, "size", 0);
		double seconds = json_get_num(row, "time_us", 0) / 1e6;

		if (bytes > 0 && seconds > 0 && p->curve.n < POINTS_MAX)
			add_point(p, bytes, seconds);
	}
}

/* ---- who stands out, in both measurements ---- */

static bool is_about_pairs(const struct finding *f)
{
	return f->status == ST_FAIL && f->subject && starts_with(f->check, "pair.");
}

/* "node2", and as an end of "node1 -> node2". */
static bool names(const char *subject, const char *host)
{
	for (size_t n; *subject; subject += n) {
		subject += strspn(subject, " ");
		n = strcspn(subject, " ");
		if (n == strlen(host) && !strncmp(subject, host, n))
			return true;
	}
	return false;
}

static bool same_culprit(const struct finding *x, const struct finding *y)
{
	return streq(x->check, y->check) &&
	       (streq(x->subject, y->subject) || names(x->subject, y->subject) ||
		names(y->subject, x->subject));
}

/* One measurement on a busy cluster is a suspicion. */
static void doubt(struct preflight *p)
{
	for (size_t i = p->run[S_PAIRS].from; i < p->t.items.n; i++) {
		struct finding *f = p->t.items.v[i].f;

		if (!is_about_pairs(f))
			continue;
		finding_set(f, ST_WARN, "%s (in the first measurement)", f->message);
		f->fix.n = 0;
		finding_fix(f, "ncclbench %s --find-slow   # measures again",
			    preflight_to(p, p->given ?: "HOSTS"));
		p->doubts = true;
	}
}

/* Otherwise the second one decides. */
static bool was_measured_before(const struct preflight *p)
{
	const struct stage_run *before = &p->run[S_PAIRS];

	return before->cut || before->left_out ||
	       (before->status != ST_ERROR && before->status != ST_SKIP);
}

/* It was suspected, and is one line from here on. */
static bool take_over(struct preflight *p, const struct finding *f)
{
	const struct stage_run *before = &p->run[S_PAIRS];
	bool any = false;

	for (size_t i = before->from; i < before->from + before->n; i++) {
		struct item *x = &p->t.items.v[i];

		if (x->f->status != ST_WARN || !x->f->subject || !same_culprit(x->f, f))
			continue;
		x->retold = any = true;
	}
	return any;
}

static bool is_link(const struct finding *f) { return strstr(f->subject, "->") != NULL; }

/* An end of this link stands out with all its partners: the link is one of them. */
static const char *end_at_fault(const struct preflight *p, const struct finding *link)
{
	for (size_t i = p->run[S_SLOW].from; i < p->t.items.n; i++) {
		const struct finding *f = p->t.items.v[i].f;

		if (is_about_pairs(f) && !is_link(f) && names(link->subject, f->subject))
			return f->subject;
	}
	return NULL;
}

/* The other end is no culprit, and not to be left out. */
static void explain_links(struct preflight *p)
{
	for (size_t i = p->run[S_SLOW].from; i < p->t.items.n; i++) {
		struct finding *f = p->t.items.v[i].f;
		const char *end = is_about_pairs(f) && is_link(f) ? end_at_fault(p, f) : NULL;

		if (!end)
			continue;
		finding_set(f, ST_INFO, "%s (as %s does with others, too)", f->message, end);
		f->fix.n = 0;
	}
}

static void confirm(struct preflight *p)
{
	for (size_t i = p->run[S_SLOW].from; i < p->t.items.n; i++) {
		struct finding *f = p->t.items.v[i].f;

		if (!is_about_pairs(f) || !was_measured_before(p))
			continue;
		if (take_over(p, f))
			finding_set(f, ST_FAIL, "%s, in both of two measurements", f->message);
		else
			finding_set(f, ST_WARN, "%s (in the second measurement alone)", f->message);
	}
	explain_links(p);
}

/* ---- the stages ---- */

void preflight_size_up(struct preflight *p, enum stage_id id)
{
	uint64_t cap = preflight_cap(p, id);

	p->within_ns = (uint64_t)((double)cap * SWEEP_WITHIN);
	if (p->within_ns < NS_PER_S) /* less cannot be asked for */
		p->within_ns = 0;
	if (id == S_COLLECTIVES && p->within_ns > COLLECTIVES_NS)
		p->within_ns = COLLECTIVES_NS;
}

static cJSON *ask(struct preflight *p, enum stage_id id, const char *names_of, bool takes)
{
	if (p->crew)
		return crew_run(p->crew, id, takes);
	return preflight_run_doc(p, id, preflight_args(p, id, names_of), takes);
}

static bool is_needless(struct preflight *p, enum stage_id id, size_t hosts)
{
	const char *why = NULL;

	if ((id == S_PAIRS || id == S_SLOW) && hosts < 2)
		why = "not measured: it takes two hosts";
	else if (id == S_SLOW && hosts > PREFLIGHT_FEW && p->run[S_PAIRS].status == ST_PASS)
		why = "nobody stood out among the pairs; of so many hosts they are measured once";
	if (why)
		finding_set(preflight_note(p, id), hosts < 2 ? ST_SKIP : ST_INFO, "%s", why);
	return why;
}

static bool was_told(const struct preflight *p, const struct finding *f, size_t before)
{
	for (size_t i = 0; i < before; i++) {
		const struct finding *x = p->t.items.v[i].f;

		if (!p->t.items.v[i].retold && streq(x->check, f->check) &&
		    streq(x->subject ?: "", f->subject) && streq(x->host ?: "", f->host ?: ""))
			return true;
	}
	return false;
}

/* What an earlier stage measured, too, says which measurement it is: programs know a finding by its
 * check and its subject. */
static void tell_apart(struct preflight *p, enum stage_id id)
{
	size_t from = p->run[id].from;

	for (size_t i = from; i < p->t.items.n; i++) {
		struct finding *f = p->t.items.v[i].f;

		if (f->subject && was_told(p, f, from))
			f->subject = arena_printf(p->a, "%s (%s)", f->subject, stages[id].name);
	}
}

void preflight_full(struct preflight *p, enum stage_id id, const char *names_of, size_t hosts)
{
	cJSON *doc, *again = NULL;

	if (is_needless(p, id, hosts))
		return;
	doc = ask(p, id, names_of, true);
	if (id == S_PAIRS)
		doubt(p);
	else if (id == S_SLOW)
		confirm(p);
	else if (id == S_EXPECT && doc) {
		if (!p->run[id].cut && preflight_is_uneven(p, json_get(doc, "data")))
			again = ask(p, id, names_of, false);
		if (!p->run[id].cut)
			preflight_judge_training(p, json_get(doc, "data"), json_get(again, "data"));
	}
	tell_apart(p, id);
	cJSON_Delete(doc);
	cJSON_Delete(again);
}
