/* What the ranks tell of --together. */
#include "bench/sweep/story.h"
#include "lib/report/json.h"

#include <math.h>

static bool is_unit(const struct story *s, int i) { return i >= 0 && i < (int)s->units.n; }

/* As many groups as it has numbers; whatever it was told, each is within them. */
static void take_groups(struct story *s, const cJSON *of)
{
	int n = (int)s->units.n, i = 0;
	struct grouping *g = &s->at_once.groups;
	const cJSON *o;

	if (cJSON_GetArraySize(of) != n)
		return;
	*g = grouping_all(n, s->a);
	cJSON_ArrayForEach (o, of) {
		g->of[i] = o->valuedouble >= 0 && o->valuedouble < n ? (int)o->valuedouble : 0;
		g->groups = g->of[i] < g->groups ? g->groups : g->of[i] + 1;
		i++;
	}
	if (g->groups < 2)
		*g = (struct grouping){0};
}

void story_at_once_event(struct story *s, const cJSON *event)
{
	struct story_at_once *x = &s->at_once;
	const cJSON *o;

	*x = (struct story_at_once){.told = true,
				    .share_machine = cJSON_IsTrue(json_get(event, "share_machine")),
				    .share = json_get_num(event, "share", NAN),
				    .trials = json_get_int(event, "trials", 0),
				    .seconds = json_get_num(event, "seconds", NAN)};
	cJSON_ArrayForEach (o, json_get(event, "pairs")) {
		const struct duo d = {.a = json_get_int(o, "a", -1),
				      .b = json_get_int(o, "b", -1),
				      .alone = json_get_num(o, "alone", NAN),
				      .at_once = json_get_num(o, "at_once", NAN),
				      .unhindered = json_get_num(o, "unhindered", NAN),
				      .busy = json_get_num(o, "busy", NAN),
				      .hindered = json_get_num(o, "hindered", NAN)};

		if (is_unit(s, d.a) && is_unit(s, d.b))
			*LIST_ADD(s->a, &x->pairs) = d;
	}
	take_groups(s, json_get(event, "of"));
}
