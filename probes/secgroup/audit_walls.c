/* --audit of what Google Cloud's and Azure's commands printed. */
#include "lib/report/json.h"
#include "probes/secgroup/verdict.h"

enum { MOST_SAID = 16 }; /* of those that let nothing through */

static struct port_needs needs(const struct cloud_run *q)
{
	return (struct port_needs){q->master, {q->first, q->last}};
}

/* @imagined: who the only node is that nobody described, or NULL. */
static int judge(const struct cloud_run *q, struct walls *w, const str_list *groups,
		 const char *imagined, struct err *e)
{
	const struct port_needs n = needs(q);
	struct walls_training t;
	size_t nodes = 0;

	if (walls_train(w, &n, groups, &t, e))
		return -1;
	for (size_t i = 0; i < t.classes.n; i++)
		nodes += t.classes.v[i].nodes.n;
	report_covers(q->r, "%s; no packet was sent, and hosts' firewalls%s were not looked at",
		      imagined ? imagined
			       : arena_printf(q->a, "the rules around %zu interface%s", nodes,
					      nodes == 1 ? "" : "s"),
		      w->cloud == WALLS_GCP ? " and firewall policies" : "");
	walls_train_report(&t, q->r);
	if (report_wants_data(q->r))
		walls_train_data(&t, report_data(q->r));
	return 0;
}

/* --- nodes that nobody described: each kind that the rules know by itself ------------------------
 */

struct alone {
	const struct wall_node *node;
	struct walls *walls;
	struct walls_training t;
	bool stops;
};
typedef LIST(struct alone) alone_list;

static int try(const struct cloud_run *q, const struct walls *w, const struct wall_node *n,
	       struct alone *ret, struct err *e)
{
	const struct port_needs what = needs(q);
	const str_list all = {0};

	*ret = (struct alone){.node = n, .walls = ARENA_NEW(q->a, struct walls)};
	*ret->walls = *w;
	*LIST_ADD(q->a, &ret->walls->nodes) = *n;
	if (walls_train(ret->walls, &what, &all, &ret->t, e))
		return -1;
	ret->stops = walls_train_stops(&ret->t);
	return 0;
}

static const char *carries(const struct alone *x, struct arena *a)
{
	const struct wall *wall = wall_find(x->walls, x->node->walls.v[0]);

	if (x->walls->cloud == WALLS_AZURE)
		return wall->name;
	if (!x->node->labels.n)
		return arena_printf(a, "%s, no tag", wall->name);
	return arena_printf(a, "%s, %s", wall->name, wall_label_word(x->node->labels.v[0]));
}

static void say(const struct cloud_run *q, const struct alone *x, bool none)
{
	struct finding *f = report_find(q->r, "cloud.alone", carries(x, q->a));
	const struct wall_case *c = NULL;
	str_list lines;

	for (size_t i = 0; i < x->t.cases.n && !c; i++)
		c = x->t.cases.v[i].closed.n ? &x->t.cases.v[i] : NULL;
	if (!c) {
		finding_set(f, ST_PASS, "such nodes let training's TCP pass between each other");
	} else {
		finding_set(f, none ? ST_FAIL : ST_INFO,
			    "such nodes do not let training through: TCP %s cannot %s",
			    port_spans_text(f->a, &c->closed),
			    c->view.is_egress ? "leave" : "enter");
		lines = walls_mend(&x->t, c->view.wall, c->view.is_egress, f->a);
		for (size_t i = 0; i < lines.n; i++)
			finding_fix(f, "%s", lines.v[i]);
	}
	report_add(q->r, f);
}

static void put(const struct cloud_run *q, const alone_list *all)
{
	cJSON *list = json_array(json_object(report_data(q->r), "audit"), "alone");

	for (size_t i = 0; i < all->n; i++) {
		cJSON *o = json_push_object(list);

		json_str(o, "group", carries(&all->v[i], q->a));
		json_bool(o, "trains", !all->v[i].stops);
	}
}

static void report(const struct cloud_run *q, const alone_list *all)
{
	size_t good = 0, said = 0;

	for (size_t i = 0; i < all->n; i++)
		good += !all->v[i].stops;
	report_covers(
		q->r,
		"%zu kinds of nodes that the rules tell apart, each as if a cluster were of it; "
		"no node is described, and --group says what they carry",
		all->n);
	for (size_t i = 0; i < all->n; i++)
		if (!all->v[i].stops || said++ < MOST_SAID)
			say(q, &all->v[i], !good);
	if (report_wants_data(q->r))
		put(q, all);
}

static const char *who_is(const struct cloud_run *q, const struct walls *w,
			  const struct wall_node *n)
{
	if (w->cloud == WALLS_AZURE)
		return "nodes behind that group alone, of which none is described";
	return n->labels.n ? arena_printf(q->a, "nodes with %s, of which none is described",
					  wall_label_word(n->labels.v[0]))
			   : "nodes without a tag, of which none is described";
}

int cloud_audit_walls(const struct cloud_run *q, struct walls *w, struct err *e)
{
	const str_list all_groups = {0};
	struct wall_node *nodes;
	alone_list all = {0};
	size_t n;

	walls_settle(w);
	if (w->nodes.n)
		return judge(q, w, &q->c->groups, NULL, e);
	walls_imagine(w, &q->c->groups, q->a, &nodes, &n);
	if (!n)
		return q->c->groups.n
			       ? err_set(e, ERR_USAGE, "nothing of that name is described there")
			       : err_set(e, ERR_SYS,
					 "neither a rule nor a node is described there");
	if (n == 1) {
		*LIST_ADD(q->a, &w->nodes) = nodes[0];
		return judge(q, w, &all_groups, who_is(q, w, &nodes[0]), e);
	}
	for (size_t i = 0; i < n; i++) {
		struct alone x;

		if (try(q, w, &nodes[i], &x, e))
			return -1;
		*LIST_ADD(q->a, &all) = x;
	}
	report(q, &all);
	return 0;
}
