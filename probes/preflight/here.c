/* The pre-flight of this machine alone, on an embedded default: local ranks. */
#include "lib/core/interrupt.h"
#include "probes/node/node.h"
#include "probes/preflight/preflight.h"

static const enum stage_id order[] = {S_INTERFACE, S_SETTINGS,	  S_LIMITS,   S_GPUS,
				      S_PORTS,	   S_COLLECTIVES, S_TRAINING, S_PAIRS,
				      S_SLOW,	   S_SWEEP,	  S_EXPECT};

static struct node_look look_at(struct preflight *p, enum stage_id id)
{
	return (struct node_look){.a = p->a,
				  .t = &p->t,
				  .stage = id,
				  .stage_name = stages[id].name,
				  .deadline_ns = p->deadline_ns,
				  .cap_ns = preflight_cap(p, id),
				  .until_ns = p->until_ns,
				  .burst = preflight_bursts(p),
				  .asked = p->asked,
				  .here = p->here && !p->asked,
				  .data = preflight_wants_data(p) ? report_data(p->r) : NULL};
}

void preflight_limits(struct preflight *p)
{
	struct node_look look = look_at(p, S_LIMITS);

	node_limits(&look);
}

void preflight_gpus(struct preflight *p)
{
	struct node_look look = look_at(p, S_GPUS);

	node_gpus(&look);
	if (look.absent && !p->absent)
		p->absent = arena_printf(p->a, "%s: %s", stages[S_GPUS].name, look.absent);
}

static void run_stage(struct preflight *p, enum stage_id id)
{
	switch (id) {
	case S_LIMITS:
		preflight_limits(p);
		break;
	case S_GPUS:
		preflight_gpus(p);
		break;
	case S_PAIRS:
	case S_SLOW:
	case S_SWEEP:
	case S_EXPECT:
		preflight_full(p, id, NULL, 1);
		break;
	default:
		preflight_run_part(p, id, preflight_args(p, id, NULL));
	}
	preflight_measure_again(p, id, NULL, 1);
}

int preflight_here(struct preflight *p, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		if (stages[order[i]].tier > p->tier)
			continue;
		if (preflight_gate(p, order[i]))
			run_stage(p, order[i]);
		preflight_finish(p, order[i]);
	}
	preflight_covers(p, "this host only; nothing between hosts was tested");
	return preflight_conclude(p, e);
}
