/* What differs between hosts: the odd one is named against the majority. */
#include "lib/core/version.h"
#include "lib/report/json.h"
#include "probes/preflight/drift_values.h"

#include <math.h>

struct finding *drift_note(struct preflight *p, const char *key, const char *subject,
			   const char *host)
{
	struct finding *f = tally_add(&p->t, S_DRIFT, stages[S_DRIFT].name,
				      arena_printf(p->a, "drift.%s", key ?: "same"), subject);

	if (host)
		tally_of_host(&p->t, host);
	return f;
}

/* Another host said it, and somebody will type it: what a shell could take for more than a word
 * is left for a person to fill in. A remark may have a little more in it. */
static const char *typable(const char *text, bool in_remark)
{
	static const char words[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789 ._+-";
	static const char remarks[] = ",:/()%@=[]";

	for (const char *at = text; *at; at++)
		if (!strchr(words, *at) && !(in_remark && strchr(remarks, *at)))
			return "VALUE";
	return text;
}

/* The table's text has at most one %s. */
static const char *fix_of(struct arena *a, const struct drift_kind *k, const struct drift_value *v,
			  const struct drift_value *usual)
{
	bool none = streq(v->text, DRIFT_NONE) && k->none && *k->none;
	bool above = k->above && v->number > usual->number;
	const char *fix = none ? k->none : above ? k->above : k->fix, *hole = strstr(fix, "%s");
	struct drift_value shown = *usual;
	const char *text;

	if (!hole)
		return fix;
	shown.text = typable(usual->text, memchr(fix, '#', (size_t)(hole - fix)) != NULL);
	text = k->typed ? k->typed(a, &shown) : shown.text;
	return arena_printf(a, "%.*s%s%s", (int)(hole - fix), fix, text, hole + 2);
}

/* Hosts where a limit that is wrong by itself has been said to be; and those that have less of the
 * whole, of which less is there. */
static void find_said(const struct preflight *p, const struct drift_kind *k, struct names *ret)
{
	const char *limit = arena_printf(p->a, "limits.%s", k->key);
	const char *limit_of_whole = arena_printf(p->a, "limits.%s", k->part_of ?: k->key);
	const char *whole = k->part_of ? arena_printf(p->a, "drift.%s", k->part_of) : "";

	for (size_t i = 0; i < p->t.items.n; i++) {
		const struct finding *f = p->t.items.v[i].f;

		if ((f->status == ST_FAIL || f->status == ST_WARN) && f->host &&
		    (streq(f->check, limit) || streq(f->check, limit_of_whole) ||
		     streq(f->check, whole)))
			names_add(ret, p->a, f->host);
	}
}

/* Without those hosts, are the others alike? */
static bool is_said(const struct preflight *p, const struct drift_kind *k, const drift_values *l)
{
	const struct drift_value *first = NULL;
	struct names said = {0};

	find_said(p, k, &said);
	for (size_t i = 0; i < l->n; i++) {
		if (names_has(&said, l->v[i].host))
			continue;
		if (first && !drift_alike(k, first, &l->v[i]))
			return false;
		first = first ?: &l->v[i];
	}
	return true;
}

/* Where every host has the whole of it, or the part that all have, that has been compared. */
static bool is_compared(const struct answers *all, const struct drift_kind *k)
{
	for (size_t i = 0; k->part_of && i < all->n; i++) {
		const cJSON *facts = json_get(all->v[i].data, "facts");
		double whole = json_get_num(facts, k->part_of, 0);
		double usual = whole * (k->usual_part > 0 ? k->usual_part : 1);
		double near = k->type == ROOM ? usual / 20 : 0;

		if (!(fabs(json_get_num(facts, k->key, 0) - usual) <= near))
			return false;
	}
	return k->part_of;
}

/* Where ours is the odd one, or nobody's is (NULL), it goes to all others. */
static void advise_ours(struct preflight *p, struct finding *f, const drift_values *l,
			const struct drift_value *odd)
{
	host_list others = {0};

	if (odd && streq(odd->text, WINDSOCK_VERSION))
		odd = NULL;
	for (size_t i = 0; i < l->n; i++)
		if ((!odd || &l->v[i] == odd) && !streq(l->v[i].text, WINDSOCK_VERSION))
			LIST_ADD(p->a, &others)->name = l->v[i].host;
	drift_advise_version(p, f, &others);
}

static const char *more_of(struct arena *a, const struct drift_value *v)
{
	return v->more ? arena_printf(a, " (%s)", v->more) : "";
}

/* Who has the measure, beside one that has not. */
static const char *who_has(struct preflight *p, const struct drift_kind *k, const drift_values *l,
			   const struct drift_value *measure)
{
	host_list who = {0};

	if (2 * measure->alike > l->n)
		return "the others";
	for (size_t i = 0; i < l->n; i++)
		if (drift_alike(k, &l->v[i], measure))
			LIST_ADD(p->a, &who)->name = l->v[i].host;
	return names_brief(p->a, &who);
}

/* Most may be worse than the measure: that is no failure of theirs. */
static void name_odd(struct preflight *p, const struct drift_kind *k, const drift_values *l,
		     const struct drift_value *usual)
{
	const char *who = who_has(p, k, l, usual);
	bool of_most = 2 * usual->alike > l->n;
	struct names said = {0};

	find_said(p, k, &said);
	for (size_t i = 0; i < l->n; i++) {
		const struct drift_value *v = &l->v[i];
		struct finding *f;
		bool milder;

		if (drift_alike(k, v, usual) || names_has(&said, v->host) ||
		    ((k->type == RATE || k->type == ROOM) && v->number > usual->number) ||
		    (k->enough > 0 && v->number >= k->enough * usual->number))
			continue;
		milder = !of_most || (k->type == COUNT && v->number > usual->number);
		f = drift_note(p, k->key, k->subject, v->host);
		finding_set(f, milder && k->st == ST_FAIL ? ST_WARN : k->st,
			    "%s here, %s on %zu of %zu hosts%s", v->text, usual->text, usual->alike,
			    l->n, more_of(p->a, v));
		finding_expect(f, "%s, as on %s", usual->text, who);
		if (k->fix)
			finding_fix(f, "%s", fix_of(p->a, k, v, usual));
		else
			advise_ours(p, f, l, v);
	}
}

/* Two against two: nobody is odd, and yet they differ. Of very many values the first are told. */
static void name_all(struct preflight *p, const struct drift_kind *k, const drift_values *l)
{
	enum { VALUES_MAX = 8 };
	struct finding *f = drift_note(p, k->key, k->subject, NULL);
	bool *told = arena_alloc(p->a, l->n * sizeof(*told));
	size_t values = 0, left = l->n;
	struct text t;

	text_init(&t, p->a);
	for (size_t i = 0; i < l->n && values < VALUES_MAX; i++) {
		host_list who = {0};

		for (size_t j = i; !told[i] && j < l->n; j++)
			if (!told[j] && drift_alike(k, &l->v[i], &l->v[j])) {
				told[j] = i != j;
				LIST_ADD(p->a, &who)->name = l->v[j].host;
			}
		if (!who.n)
			continue;
		text_addf(&t, "%s%s%s on %s", t.n ? "; " : "", l->v[i].text,
			  who.n == 1 ? more_of(p->a, &l->v[i]) : "", names_brief(p->a, &who));
		values++;
		left -= who.n;
	}
	if (left)
		text_addf(&t, "; others on %zu more", left);
	finding_set(f, k->st == ST_FAIL ? ST_WARN : k->st, "%s", t.s);
	finding_expect(f, "the same on all hosts of a job");
	if (!k->fix)
		advise_ours(p, f, l, NULL);
}

static bool compare(struct preflight *p, const struct answers *all, const struct drift_kind *k)
{
	drift_values l = {0};
	const struct drift_value *usual;

	if (is_compared(all, k))
		return false;
	drift_collect(p->a, all, k, &l);
	usual = drift_usual(p->a, k, &l);
	if (!usual)
		return l.n > 1;
	if (2 * usual->alike > l.n)
		name_odd(p, k, &l, drift_measure(k, &l, usual));
	else if (!is_said(p, k, &l))
		name_all(p, k, &l);
	return true;
}

void preflight_drift(struct preflight *p, const struct answers *all, double asked, double answered)
{
	size_t from = p->t.items.n, compared = 0;

	for (size_t i = 0; i < drift_kinds_n; i++)
		compared += compare(p, all, &drift_kinds[i]);
	for (size_t i = 0; i < p->same.n; i++)
		compared += drift_same(p, all, p->same.v[i]);
	compared += drift_cards(p, all);
	drift_names(p, all);
	drift_master(p, all);
	drift_ranks(p, all);
	drift_addresses(p, all);
	drift_families(p, all);
	drift_clocks(p, all, asked, answered);
	if (compared && p->t.items.n == from)
		finding_set(
			tally_add(&p->t, S_DRIFT, stages[S_DRIFT].name, "drift.all", "all hosts"),
			ST_PASS, "are alike in %zu respects: hardware, versions, limits", compared);
}
