/* Nodes that nobody described: of what the rules name. */
#include "probes/walls/train.h"

typedef LIST(struct wall_node) node_list;

static void add_once(struct arena *a, str_list *l, const str_list *more)
{
	for (size_t i = 0; i < more->n; i++)
		if (!is_among(more->v[i], l->v, l->n))
			*LIST_ADD(a, l) = more->v[i];
}

/* Those by which a rule of @wall chooses whom it is for; of one that is for all, from whom. */
static str_list labels_of(const struct wall *wall, struct arena *a)
{
	str_list all = {0};

	for (size_t i = 0; i < wall->rules.n; i++)
		add_once(a, &all,
			 wall->rules.v[i].targets.n ? &wall->rules.v[i].targets
						    : &wall->rules.v[i].peer.labels);
	return all;
}

static struct wall_node *add(const struct wall *wall, struct arena *a, node_list *l)
{
	struct wall_node *n = LIST_ADD(a, l);

	n->name = "a node";
	n->network = wall->id;
	*LIST_ADD(a, &n->walls) = wall->id;
	return n;
}

static bool is_named(const char *label, const str_list *groups)
{
	return is_among(wall_label_word(label), groups->v, groups->n);
}

/* One node with all of @groups: as tags, or as accounts where a rule knows them as such. */
static void add_given(const struct wall *wall, const str_list *groups, struct arena *a,
		      node_list *l)
{
	struct wall_node *n = add(wall, a, l);

	for (size_t i = 0; i < groups->n; i++)
		*LIST_ADD(a, &n->labels) = arena_printf(
			a, "%s:%s", strchr(groups->v[i], '@') ? "account" : "tag", groups->v[i]);
}

static void add_each(const struct wall *wall, struct arena *a, node_list *l)
{
	str_list labels = labels_of(wall, a);

	add(wall, a, l);
	for (size_t i = 0; i < labels.n; i++) {
		struct wall_node *n = add(wall, a, l);

		*LIST_ADD(a, &n->labels) = labels.v[i];
	}
}

/* Does any rule of @wall choose by one of @groups? */
static bool knows(const struct wall *wall, const str_list *groups, struct arena *a)
{
	str_list labels = labels_of(wall, a);

	for (size_t i = 0; i < wall->rules.n; i++)
		add_once(a, &labels, &wall->rules.v[i].peer.labels);
	for (size_t i = 0; i < labels.n; i++)
		if (is_named(labels.v[i], groups))
			return true;
	return false;
}

void walls_imagine(const struct walls *w, const str_list *groups, struct arena *a,
		   struct wall_node **ret, size_t *ret_n)
{
	node_list all = {0};
	bool any_knows = false;

	for (size_t i = 0; i < w->all.n; i++)
		any_knows |= knows(&w->all.v[i], groups, a);
	for (size_t i = 0; i < w->all.n; i++) {
		const struct wall *wall = &w->all.v[i];

		if (w->cloud == WALLS_AZURE) {
			if (!groups->n || is_among(wall->name, groups->v, groups->n))
				add(wall, a, &all);
		} else if (!groups->n) {
			add_each(wall, a, &all);
		} else if (!any_knows || knows(wall, groups, a)) {
			add_given(wall, groups, a, &all);
		}
	}
	*ret = all.v;
	*ret_n = all.n;
}
