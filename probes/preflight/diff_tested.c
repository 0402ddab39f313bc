#include "probes/preflight/diff_tested.h"

#include "lib/core/text.h"
#include "lib/report/json.h"

/* NULL: unknown, as of a run of another command. */
static const char *stage_of(const struct diff_tested *x, const char *check)
{
	for (size_t i = 0; i < x->of.n; i++)
		if (streq(x->of.v[i].check, check))
			return x->of.v[i].stage;
	return NULL;
}

/* A finding does not say of which stage it is; the causes do, and have all that is wrong. */
static void learn_stages(struct diff_tested *x, const cJSON *causes)
{
	const cJSON *c;

	cJSON_ArrayForEach (c, causes)
		if (!stage_of(x, json_text(c, "check")))
			*LIST_ADD(x->a, &x->of) = (struct diff_stage_of){json_text(c, "check"),
									 json_text(c, "stage")};
}

static void add(struct diff_tested *x, const char *what)
{
	if (*what && !names_has(&x->without, what))
		names_add(&x->without, x->a, what);
}

static void learn_gaps(struct diff_tested *x, const cJSON *f)
{
	const char *check = json_text(f, "check"), *st = json_text(f, "status");

	if (streq(check, "host.answer") && !streq(st, "pass")) {
		add(x, json_text(f, "host"));
		add(x, json_text(f, "subject"));
	} else if (starts_with(check, "stage.") && (streq(st, "skip") || streq(st, "error"))) {
		add(x, arena_printf(x->a, "%s %s", check + strlen("stage."), json_text(f, "host")));
	}
}

void diff_tested_init(struct diff_tested *x, struct arena *a, const cJSON *old, const cJSON *now)
{
	const cJSON *data = json_get(now, "data"), *f;

	*x = (struct diff_tested){
		.a = a, .stages = json_get(data, "stages"), .left_out = json_get(data, "left_out")};
	learn_stages(x, json_get(json_get(old, "data"), "causes"));
	cJSON_ArrayForEach (f, json_get(now, "findings"))
		learn_gaps(x, f);
}

/* To its end, and it came to something. */
static bool has_run(const struct diff_tested *x, const char *stage)
{
	const cJSON *s;

	cJSON_ArrayForEach (s, x->left_out)
		if (streq(cJSON_GetStringValue(s) ?: "", stage))
			return false;
	cJSON_ArrayForEach (s, x->stages) {
		const char *st = json_text(s, "status");
		/* of many hosts one may have broken: then there is more than that */
		bool broke = streq(st, "error") && json_get_num(s, "findings", 0) <= 1;

		if (streq(json_text(s, "name"), stage))
			return !streq(st, "skip") && !broke && !cJSON_IsTrue(json_get(s, "cut"));
	}
	return !x->stages;
}

bool diff_was_tested(const struct diff_tested *x, const cJSON *f, const char *host)
{
	const char *stage = stage_of(x, json_text(f, "check"));

	return !names_has(&x->without, host) && !names_has(&x->without, json_text(f, "subject")) &&
	       (!stage || (has_run(x, stage) &&
			   !names_has(&x->without, arena_printf(x->a, "%s %s", stage, host))));
}
