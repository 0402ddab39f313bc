/* Groups of which nobody said who carries them: an account has many, and a node a few. */
#include "lib/report/json.h"
#include "probes/secgroup/say.h"
#include "probes/secgroup/verdict.h"

enum { MOST_SAID = 16 }; /* of those that let nothing through */

/* What nodes with one group alone let through. */
struct alone {
	const struct sg_group *group;
	size_t missing; /* rules */
	bool stops, known;
};
typedef LIST(struct alone) alone_list;

bool verdict_has_no_nodes(const struct cloud_run *q, const struct sg_model *m)
{
	for (size_t i = 0; i < m->nodes.n; i++)
		if (m->nodes.v[i].groups.n)
			return false;
	return !q->c->groups.n && m->groups.n > 1;
}

static int judge(const struct cloud_run *q, const struct sg_model *m, const struct sg_group *g,
		 struct alone *ret, struct err *e)
{
	struct sg_model one = *m; /* a node that is made up is of this one alone */
	str_list id = {0};
	struct sg_training t;

	*LIST_ADD(q->a, &id) = g->id;
	if (verdict_train(q, &one, &id, &t, e))
		return -1;
	*ret = (struct alone){g, t.fixes.n, sg_train_stops(&t), sg_train_is_known(&t)};
	return 0;
}

static const char *named(struct arena *a, const struct sg_group *g)
{
	return g->name ? arena_printf(a, " (%s)", g->name) : "";
}

static void say(const struct cloud_run *q, const struct alone *x, bool none)
{
	struct finding *f = report_find(q->r, "cloud.alone", x->group->id);
	const char *name = named(f->a, x->group);

	finding_expect(f, "all traffic (-1) in and out, naming the group itself");
	if (!x->stops && x->known && !x->missing) {
		finding_set(f, ST_PASS, "nodes with this group%s let each other's traffic pass",
			    name);
	} else if (!x->stops) {
		finding_set(f, ST_WARN,
			    x->known ? "nodes with this group%s alone let training's TCP pass; "
				       "EFA, UDP and ICMP may lack a rule"
				     : "what nodes with this group%s alone let pass is not all "
				       "known",
			    name);
	} else {
		finding_set(f, none ? ST_FAIL : ST_WARN,
			    "nodes with this group%s alone do not let training through: "
			    "%zu rule%s missing; assumed that nodes carry this group alone: "
			    "--group says what they do carry",
			    name, x->missing, x->missing == 1 ? " is" : "s are");
	}
	if (f->status != ST_PASS)
		finding_fix(f, "- name the groups that are on the nodes: --group %s --group ...",
			    x->group->id);
	report_add(q->r, f);
}

static void say_more(const struct cloud_run *q, size_t more, bool none)
{
	struct finding *f = report_find(q->r, "cloud.alone", arena_printf(q->a, "%zu more", more));

	finding_set(f, none ? ST_FAIL : ST_WARN,
		    "groups do not let training through by themselves either");
	report_add(q->r, f);
}

static void put(const alone_list *all, cJSON *data)
{
	cJSON *list = json_array(json_object(data, "audit"), "alone");

	for (size_t i = 0; i < all->n; i++) {
		const struct alone *x = &all->v[i];
		cJSON *o = json_push_object(list);

		json_str(o, "group", x->group->id);
		json_str(o, "name", x->group->name);
		json_str(o, "vpc", x->group->vpc);
		json_num(o, "missing", (double)x->missing);
		if (x->known || x->stops)
			json_bool(o, "trains", !x->stops);
	}
}

static void report(const struct cloud_run *q, const alone_list *all)
{
	size_t good = 0, said = 0;

	for (size_t i = 0; i < all->n; i++)
		good += !all->v[i].stops;
	for (size_t i = 0; i < all->n; i++)
		if (!all->v[i].stops || said++ < MOST_SAID)
			say(q, &all->v[i], !good);
	if (said > MOST_SAID)
		say_more(q, said - MOST_SAID, !good);
	if (report_wants_data(q->r))
		put(all, report_data(q->r));
}

int verdict_alone(const struct cloud_run *q, struct sg_model *m, struct err *e)
{
	alone_list all = {0};

	for (size_t i = 0; i < m->groups.n; i++) {
		struct alone x;

		if (!m->groups.v[i].is_described)
			continue;
		if (judge(q, m, &m->groups.v[i], &x, e))
			return -1;
		*LIST_ADD(q->a, &all) = x;
	}
	if (!all.n)
		return err_set(e, ERR_SYS, "no security group is described there");
	report_covers(q->r, "%zu groups, each as if nodes carried it alone; no node is described",
		      all.n);
	report(q, &all);
	return 0;
}
