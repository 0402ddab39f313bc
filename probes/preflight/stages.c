#include "probes/preflight/preflight.h"

#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <math.h>

const struct stage stages[S_COUNT] = {
	[S_HOSTS] = {"hosts", "hosts", NULL, 0, TIER_QUICK, 1000, 3},
	[S_INTERFACE] = {"interface", "interface", "ifprobe", 0, TIER_QUICK, 300, 3},
	[S_SETTINGS] = {"settings", "settings", "ifprobe", BIT(S_INTERFACE), TIER_QUICK, 300, 3},
	[S_LIMITS] = {"limits", "limits of this host", NULL, 0, TIER_QUICK, 0, 1},
	[S_GPUS] = {"gpus", "GPUs", NULL, 0, TIER_QUICK, 0, 1},
	[S_PORTS] = {"ports", "ports", "portcheck", BIT(S_INTERFACE), TIER_QUICK, 1000, 3},
	[S_DRIFT] = {"drift", "differences between hosts", NULL, 0, TIER_QUICK, 0, 1},
	[S_REACH] = {"reach", "every host to every host", "portcheck", 0, TIER_QUICK, 2500, 6},
	[S_PATHS] = {"paths", "the ways between hosts", "ifprobe", 0, TIER_QUICK, 2500, 6},
	[S_COLLECTIVES] = {"collectives", "collectives", "ncclbench",
			   BIT(S_INTERFACE) | BIT(S_SETTINGS) | BIT(S_PORTS) | BIT(S_REACH) |
				   BIT(S_PATHS),
			   TIER_DEFAULT, 2000, 6},
	[S_TRAINING] = {"training", "training", "ddpsmoke", BIT(S_COLLECTIVES), TIER_DEFAULT, 4000,
			12},
	[S_BASELINE] = {"baseline", "an earlier run", NULL, 0, TIER_QUICK, 0, 1},
};
enum { FULL_FACTOR = 10 }; /* how much longer --full may take */

bool stage_find(const char *name, enum stage_id *ret)
{
	for (*ret = 0; name && *ret < S_COUNT; (*ret)++)
		if (streq(stages[*ret].name, name))
			return true;
	return false;
}

static uint64_t scaled(const struct preflight *p, enum stage_id id, uint64_t v)
{
	return p->tier == TIER_FULL && stages[id].tier == TIER_DEFAULT ? v * FULL_FACTOR : v;
}

static uint64_t left_ns(const struct preflight *p)
{
	uint64_t now = now_ns();

	return !p->until_ns ? UINT64_MAX : now < p->until_ns ? p->until_ns - now : 0;
}

uint64_t preflight_cap(const struct preflight *p, enum stage_id id)
{
	uint64_t patience = scaled(p, id, stages[id].patience * p->deadline_ns);
	uint64_t left = left_ns(p);

	return patience < left ? patience : left;
}

struct finding *preflight_note(struct preflight *p, enum stage_id id)
{
	const struct stage *s = &stages[id];

	return tally_add(&p->t, id, s->name, arena_printf(p->a, "stage.%s", s->name),
			 s->command ? s->command : s->name);
}

/* Why this stage cannot be, or NULL. */
static const char *obstacle(struct preflight *p, enum stage_id id)
{
	uint64_t need = scaled(p, id, stages[id].estimate_ms * NS_PER_MS), left = left_ns(p);
	struct unit_buf b;

	if (interrupt_pending())
		return "not reached: interrupted";
	for (enum stage_id k = 0; k < S_COUNT; k++)
		if (stages[id].after & BIT(k) && p->run[k].because) {
			p->run[id].because = p->run[k].because; /* the root, not the last link */
			return arena_printf(p->a, "not reached because %s", p->run[k].because);
		}
	if (left < need)
		return arena_printf(p->a,
				    "left out: it takes about %s, more than the budget has left",
				    format_duration(&b, need));
	return NULL;
}

bool preflight_gate(struct preflight *p, enum stage_id id)
{
	struct stage_run *run = &p->run[id];
	const char *why;

	*run = (struct stage_run){
		.begun = true, .from = p->t.items.n, .seconds = NAN, .start_ns = now_ns()};
	why = obstacle(p, id);
	if (why) {
		finding_set(preflight_note(p, id), ST_SKIP, "%s", why);
		return false;
	}
	log_progress(stages[id].title, id, S_COUNT);
	return true;
}

void preflight_finish(struct preflight *p, enum stage_id id)
{
	struct stage_run *run = &p->run[id];
	const struct finding *bad;

	run->n = p->t.items.n - run->from;
	run->status = tally_status(&p->t, run->from, p->t.items.n);
	if (run->status != ST_SKIP && run->start_ns)
		run->seconds = (double)((now_ns() - run->start_ns) / 1000) / 1e6;
	bad = tally_first(&p->t, run->from, p->t.items.n, ST_FAIL);
	if (bad)
		run->because = arena_printf(p->a, "%s failed: %s", stages[id].name,
					    tally_sentence(p->a, bad));
	run->done = true;
	if (stages[id].command && (run->status <= ST_FAIL))
		p->concluded++;
	log_progress_end();
	tally_emit(&p->t);
}

/* A key twice would make our own document unreadable for strict readers. */
static cJSON *without_twins(cJSON *o)
{
	for (cJSON *x = o->child; x; x = x->next)
		for (cJSON *y = x->next, *next; y; y = next) {
			next = y->next;
			if (streq(x->string, y->string))
				cJSON_Delete(cJSON_DetachItemViaPointer(o, y));
		}
	return o;
}

static void take_data(struct preflight *p, enum stage_id id, const cJSON *doc)
{
	const cJSON *data = json_get(doc, "data");
	const char *line = json_get_str(json_get(data, "local"), "peer_line");
	cJSON *parts;

	if (line && !p->peer_line)
		p->peer_line = arena_strdup(p->a, line);
	if (id == S_REACH)
		preflight_find_culprits(p, json_get(data, "matrix"));
	if (!preflight_wants_data(p) || !cJSON_IsObject(data))
		return;
	parts = cJSON_GetObjectItemCaseSensitive(report_data(p->r), "parts");
	parts = parts ? parts : json_object(report_data(p->r), "parts");
	cJSON_AddItemToObject(parts, stages[id].name, without_twins(cJSON_Duplicate(data, true)));
}

static void take_findings(struct preflight *p, enum stage_id id, const cJSON *doc)
{
	const char *own = json_get_str(doc, "host");
	const cJSON *f;

	cJSON_ArrayForEach (f, json_get(doc, "findings")) {
		const char *host = json_get_str(f, "host");

		tally_take(&p->t, id, stages[id].name,
			   host && own && !streq(host, own) ? host : NULL, f);
	}
}

static void say_trouble(struct preflight *p, enum stage_id id, const struct part *got)
{
	struct finding *f = preflight_note(p, id);

	finding_set(f, got->missing ? ST_SKIP : ST_ERROR, "%s", got->trouble);
	if (got->missing)
		finding_fix(f, "make && make install   # or put %s beside windsock",
			    stages[id].command);
	else
		finding_fix(f, "%s --debug   # alone, to see where it stops", stages[id].command);
}

/* Exit code 4 of a sibling is ours too, unless something is worse. */
static void note_absent(struct preflight *p, enum stage_id id, const struct part *got)
{
	enum { ABSENT = 4 };
	const struct finding *why;

	if (got->code != ABSENT || p->absent)
		return;
	why = tally_first(&p->t, p->run[id].from, p->t.items.n, ST_ERROR);
	p->absent = arena_printf(p->a, "%s: %s", stages[id].name,
				 why ? why->message : "something it needs is not on this host");
}

void preflight_run_part(struct preflight *p, enum stage_id id, const char *const *args)
{
	AUTO(part_done) struct part got;
	str_list all = {0};

	*LIST_ADD(p->a, &all) = "--json";
	*LIST_ADD(p->a, &all) = arena_printf(p->a, "--deadline=%llums",
					     (unsigned long long)(p->deadline_ns / NS_PER_MS));
	for (; args && *args; args++)
		*LIST_ADD(p->a, &all) = *args;
	*LIST_ADD(p->a, &all) = NULL;
	part_run(stages[id].command, all.v, preflight_cap(p, id), p->a, &got);
	if (got.doc) {
		take_findings(p, id, got.doc);
		take_data(p, id, got.doc);
	}
	if (got.trouble)
		say_trouble(p, id, &got);
	note_absent(p, id, &got);
}

const char *const *preflight_args(const struct preflight *p, enum stage_id id, const char *hosts)
{
	str_list args = {0};

	if (id == S_SETTINGS)
		*LIST_ADD(p->a, &args) = "--check";
	if (id == S_PATHS)
		*LIST_ADD(p->a, &args) = "--suggest";
	if (id == S_COLLECTIVES) {
		*LIST_ADD(p->a, &args) = "--minbytes=8";
		*LIST_ADD(p->a, &args) = p->tier == TIER_FULL ? "--maxbytes=256M" : "--maxbytes=4M";
		if (!hosts && !p->crew)
			*LIST_ADD(p->a, &args) = "--np=2";
	}
	if (hosts)
		*LIST_ADD(p->a, &args) = arena_printf(p->a, "--hosts=%s", hosts);
	*LIST_ADD(p->a, &args) = NULL;
	return args.v;
}
