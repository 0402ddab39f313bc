/* What the ranks tell of their groups. */
#include "bench/sweep/story.h"
#include "lib/report/json.h"

#include <math.h>

void story_groups_begin(struct story *s)
{
	size_t n = s->ranks.n;
	int *ids = arena_alloc(s->a, (n + 1) * sizeof(*ids));
	struct story_groups *x = &s->groups;

	for (size_t i = 0; i < n; i++)
		ids[i] = s->ranks.v[i].group;
	*x = (struct story_groups){0};
	if (!s->o->groups || !groups_from_ids(ids, (int)n, s->a, &x->g))
		return;
	groups_book_init(&x->book, &x->g, s->sweep.coll, s->a);
	x->tried = arena_alloc(s->a, (size_t)x->g.n * sizeof(*x->tried));
	x->wrong = arena_alloc(s->a, (size_t)x->g.n * sizeof(*x->wrong));
	for (int i = 0; i < x->g.n; i++) {
		x->tried[i] = (struct groups_tried){NAN, NAN, NAN, NAN};
		x->wrong[i] = -1;
	}
}

void story_groups_event(struct story *s, const cJSON *event)
{
	struct story_groups *x = &s->groups;
	const cJSON *o;
	int i = 0;

	cJSON_ArrayForEach (o, json_get(event, "groups")) {
		uint64_t wrong = json_get_count(o, "wrong", UINT64_MAX);

		if (i >= x->g.n)
			return;
		x->tried[i] = (struct groups_tried){
			json_get_num(o, "again", NAN), json_get_num(o, "favour", NAN),
			json_get_num(o, "alone", NAN), json_get_num(o, "beside", NAN)};
		x->wrong[i] = wrong <= INT64_MAX ? (int64_t)wrong : -1;
		i++;
	}
}
