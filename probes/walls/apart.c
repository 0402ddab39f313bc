/* Machines that have no network in common: rules of one network say nothing of them. */
#include "probes/walls/say.h"

/* By its cards, which are nodes of their own. */
struct machine {
	const char *id, *name;
	str_list networks;
};
typedef LIST(struct machine) machine_list;

static void add(struct arena *a, machine_list *l, const struct wall_node *n)
{
	const char *id = n->machine ? n->machine : n->name;
	struct machine *m = NULL;

	for (size_t i = 0; i < l->n && !m; i++)
		m = streq(l->v[i].id, id) ? &l->v[i] : NULL;
	m = m ? m : LIST_ADD(a, l);
	m->id = id;
	m->name = n->machine_name ? n->machine_name : n->name;
	*LIST_ADD(a, &m->networks) = n->network;
}

static bool meet(const struct machine *x, const struct machine *y)
{
	for (size_t i = 0; i < x->networks.n; i++)
		if (is_among(x->networks.v[i], y->networks.v, y->networks.n))
			return true;
	return false;
}

static void say(const struct machine *x, const struct machine *y, struct report *r)
{
	struct finding *f = report_find(r, "cloud.network", NULL);

	finding_set(
		f, ST_WARN,
		"%s and %s have no network in common: only a peering could connect them, and what "
		"passes there was not judged",
		x->name, y->name);
	finding_fix(f, "- nodes of one job belong into one network; else: portcheck --hosts a,b");
	report_add(r, f);
}

void walls_say_apart(const struct walls_training *t, struct report *r)
{
	struct arena *a = report_arena(r);
	machine_list all = {0};

	for (size_t i = 0; i < t->classes.n; i++)
		for (size_t k = 0; k < t->classes.v[i].nodes.n; k++)
			if (t->classes.v[i].node->network)
				add(a, &all, t->classes.v[i].nodes.v[k]);
	for (size_t i = 1; i < all.n; i++)
		if (!meet(&all.v[0], &all.v[i])) {
			say(&all.v[0], &all.v[i], r);
			return;
		}
}
