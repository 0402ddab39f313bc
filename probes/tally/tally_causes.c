/* What is wrong, the first cause first, for people and for programs. */
#include "lib/cluster/rsh.h"
#include "lib/core/fix.h"
#include "lib/report/json.h"
#include "lib/report/typed.h"
#include "probes/tally/names.h"
#include "probes/tally/tally.h"

enum { TOLD = 8 };

static int weight(enum status st) { return st == ST_FAIL ? 0 : st == ST_ERROR ? 1 : 2; }

bool tally_is_guess(const struct finding *f)
{
	/* a rule that several hosts have is told without its handle */
	return strstr(f->message, "no answer at all") && !strstr(f->message, "handle") &&
	       !strstr(f->message, " drops: ");
}

static bool is_vague(const struct finding *f) { return !f->fix.n || fix_has_hole(f->fix.v[0]); }

/* Whoever has to be root for it changes that host; what a job has to set is not set by typing it.
 */
const char *tally_on_all(const struct tally *t, const struct item *x, const char *fix)
{
	if (!t->way || x->hosts.n < 2 || !finding_wants_root(x->f, fix) || fix_has_hole(fix) ||
	    strstr(fix, " # "))
		return NULL;
	return on_each(t->a, t->way, &x->hosts, fix);
}

struct ranked {
	struct item item;
	size_t at; /* where it stood: qsort() may reorder equals, and a rank is no accident */
};

static int by_rank(const void *px, const void *py)
{
	const struct ranked *rx = px, *ry = py;
	const struct item *x = &rx->item, *y = &ry->item;
	int d = weight(x->f->status) - weight(y->f->status);

	if (!d && x->f->status == ST_WARN)
		d = is_vague(x->f) - is_vague(y->f);
	d = d ? d : (int)x->stage - (int)y->stage;
	d = d ? d : tally_is_guess(x->f) - tally_is_guess(y->f);
	d = d ? d : (x->hosts.n < y->hosts.n) - (x->hosts.n > y->hosts.n);
	return d ? d : (rx->at > ry->at) - (rx->at < ry->at);
}

static void sort(struct arena *a, item_list *l)
{
	struct ranked *v = arena_alloc(a, (l->n + 1) * sizeof(*v));

	for (size_t i = 0; i < l->n; i++)
		v[i] = (struct ranked){l->v[i], i};
	qsort(v, l->n, sizeof(*v), by_rank);
	for (size_t i = 0; i < l->n; i++)
		l->v[i] = v[i].item;
}

item_list tally_causes(const struct tally *t)
{
	item_list all = tally_folded(t, 0, true);

	sort(t->a, &all);
	return all;
}

/* Is it typed here, though it is about another host? */
static bool is_from_here(struct arena *a, const char *fix, const char *rsh)
{
	return strstr(fix, "# from here") || strstr(fix, "--hosts") || strstr(fix, "--serve") ||
	       starts_with(fix, "ssh ") || starts_with(fix, rsh_typed(a, rsh));
}

const char *tally_of_one(struct arena *a, const char *fix, const char *host, const char *rsh)
{
	if (strstr(fix, arena_printf(a, " on %s", host)))
		return fix_placed(a, fix, "the others alike");
	return fix_placed(a, fix,
			  arena_printf(a, "%s %s, the others alike",
				       is_from_here(a, fix, rsh) ? "for" : "on", host));
}

/* Where it is to be typed is in the line itself. */
static bool says_where(const struct tally *t, const char *fix)
{
	return strstr(fix, "# on ") || strstr(fix, "the others alike") ||
	       is_from_here(t->a, fix, t->way ? t->way->rsh : NULL);
}

static const char *placed(const struct tally *t, const struct item *x, const char *fix)
{
	host_list hosts = x->hosts;

	if (!x->f->host || !hosts.n || says_where(t, fix))
		return fix;
	return fix_placed(t->a, fix, arena_printf(t->a, "on %s", names_brief(t->a, &hosts)));
}

const char *tally_typed(const struct tally *t, const struct item *x, const char *fix)
{
	return tally_on_all(t, x, fix) ?: placed(t, x, fix);
}

static void causes_data(const struct tally *t, const item_list *causes)
{
	cJSON *list = json_array(report_data(t->r), "causes");

	for (size_t i = 0; i < causes->n; i++) {
		const struct item *c = &causes->v[i];
		cJSON *o = json_push_object(list), *hosts;
		str_list fixes = {0};

		json_str(o, "stage", c->stage_name);
		json_str(o, "check", c->f->check);
		json_str(o, "status", status_name(c->f->status));
		json_str(o, "subject", c->f->subject);
		json_str(o, "message", c->f->message);
		hosts = json_array(o, "hosts");
		for (size_t h = 0; h < c->hosts.n; h++)
			json_push_str(hosts, c->hosts.v[h].name);
		for (size_t k = 0; k < c->f->fix.n; k++)
			*LIST_ADD(t->a, &fixes) = placed(t, c, c->f->fix.v[k]);
		fix_json(o, &fixes);
	}
}

static void tell(const struct tally *t, const struct item *c, size_t number)
{
	const struct finding *f = c->f;

	report_remark(t->r, "%zu. %s: %s", number, c->stage_name, tally_sentence(t->a, f));
	for (size_t k = 0; k < f->fix.n; k++) {
		const char *fix = f->fix.v[k];

		report_remark(t->r, "   %s %s", fix_mark(fix), fix_text(tally_typed(t, c, fix)));
	}
}

void tally_tell_causes(const struct tally *t, const item_list *causes)
{
	size_t bad = 0;

	causes_data(t, causes);
	while (bad < causes->n && causes->v[bad].f->status != ST_WARN)
		bad++;
	if (!bad)
		return; /* warnings stand above, each with its command */
	report_heading(t->r, "What to do, the first cause first");
	for (size_t i = 0; i < bad && i < TOLD; i++)
		tell(t, &causes->v[i], i + 1);
	if (bad > TOLD)
		report_remark(t->r, "... and %zu more above", bad - TOLD);
}
