#include "probes/log/generated.h"

#include "probes/log/explain.h"
#include "probes/log/said.h"

enum { MORE = 7, /* than that ranks are not in one collective */ MOST = 95 };

void generated_hear(struct why *w, struct why_stream *s UNUSED, const struct log_line *l)
{
	static const char *const calls[] = {"generate(",   "generation/utils.py", "greedy_search",
					    "in generate", "in _sample",	  NULL};
	static const char *const zero[] = {"zero_stage: 3",
					   "zero_stage=3",
					   "ZeRO-3",
					   "ZeRO stage 3",
					   "zero3",
					   "stage3",
					   "stage=3",
					   "stage: 3",
					   "stage\": 3",
					   "partitioned_param",
					   "parameter_offload",
					   NULL};
	static const char *const fsdp[] = {"FullySharded", "fully_shard", "fsdp/_", "FULL_SHARD",
					   NULL};
	struct generated *t = &w->generated;
	const size_t n = strlen(l->text);
	const char *how = said_any(l->text, n, zero)   ? "ZeRO-3"
			  : said_any(l->text, n, fsdp) ? "FSDP"
						       : NULL;

	t->is_synced |= strstr(l->text, "synced_gpus=True") || strstr(l->text, "synced_gpus: True");
	t->generates |= said_any(l->text, n, calls);
	if (how && !t->is_sharded)
		(void)snprintf(t->how, sizeof(t->how), "%s", how);
	t->is_sharded |= how != NULL;
}

void generated_judge(struct why *w, struct arena *a, struct explanation *x)
{
	/* ranks that do different things, or are not where the others are */
	static const char *const effects[] = {"PT-014", "PT-111", "PT-112",
					      "PT-123", "PT-006", NULL};
	const struct generated *t = &w->generated;
	struct cause *c = explain_find(x, "PT-244");
	const struct cause *e = c ? explain_surest(x, effects, CONFIDENT) : NULL;

	if (c)
		c->weight = 0;
	if (!e || !e->because || !t->generates || !t->is_sharded || t->is_synced)
		return;
	explain_reason(c, e, explain_above(e, MORE, MOST),
		       arena_printf(a, "parameters are spread (%s), and %s", t->how, e->because));
	kin_adopt(c, explain_find(x, "PT-006") ? explain_find(x, "PT-006") : e);
}
