#include "probes/preflight/preflight.h"

#include "lib/core/interrupt.h"
#include "lib/core/log.h"
#include "lib/core/units.h"
#include "lib/report/json.h"

#include <math.h>

const struct stage stages[S_COUNT] = {
	[S_HOSTS] = {"hosts", "hosts", NULL, 0, TIER_QUICK, 1000, 3, 0, 0},
	[S_INTERFACE] = {"interface", "interface", "ifprobe", 0, TIER_QUICK, 300, 3, 0, 0},
	[S_SETTINGS] = {"settings", "settings", "ifprobe", BIT(S_INTERFACE), TIER_QUICK, 300, 3, 0,
			0},
	[S_LIMITS] = {"limits", "limits of this host", NULL, 0, TIER_QUICK, 0, 1, 0, 0},
	[S_GPUS] = {"gpus", "GPUs", NULL, 0, TIER_QUICK, 300, 1, 0, 0},
	[S_PORTS] = {"ports", "ports", "portcheck", BIT(S_INTERFACE), TIER_QUICK, 1000, 3, 0, 0},
	[S_DRIFT] = {"drift", "differences between hosts", NULL, 0, TIER_QUICK, 0, 1, 0, 0},
	[S_REACH] = {"reach", "every host to every host", "portcheck", 0, TIER_QUICK, 1000, 6, 40,
		     0},
	[S_PATHS] = {"paths", "the ways between hosts", "ifprobe", 0, TIER_QUICK, 1000, 6, 20, 0},
	[S_COLLECTIVES] = {"collectives", "collectives", "ncclbench",
			   BIT(S_INTERFACE) | BIT(S_SETTINGS) | BIT(S_PORTS) | BIT(S_REACH) |
				   BIT(S_PATHS),
			   TIER_DEFAULT, 2000, 6, 0, 12}, /* 9 s on 1 Gb/s; the sweep takes less */
	[S_TRAINING] = {"training", "training", "ddpsmoke", BIT(S_COLLECTIVES), TIER_DEFAULT, 4000,
			12, 0, 2},
	[S_PAIRS] = {"pairs", "every pair of hosts", "ncclbench", BIT(S_COLLECTIVES), TIER_FULL,
		     2000, 6, 500, 4},
	[S_SLOW] = {"find-slow", "who is slow", "ncclbench", BIT(S_COLLECTIVES) | BIT(S_PAIRS),
		    TIER_FULL, 2000, 6, 500, 4},
	[S_SWEEP] = {"sweep", "a long sweep of the collectives", "ncclbench",
		     BIT(S_COLLECTIVES) | BIT(S_PAIRS) | BIT(S_SLOW), TIER_FULL, 5000, 18, 0, 4},
	[S_EXPECT] = {"expectations", "training against expectations", "ddpsmoke",
		      BIT(S_TRAINING) | BIT(S_COLLECTIVES) | BIT(S_PAIRS) | BIT(S_SLOW) |
			      BIT(S_SWEEP),
		      TIER_FULL, 5000, 18, 20, 2},
	[S_BASELINE] = {"baseline", "an earlier run", NULL, 0, TIER_QUICK, 0, 1, 0, 0},
};

bool stage_find(const char *name, enum stage_id *ret)
{
	for (*ret = 0; name && *ret < S_COUNT; (*ret)++)
		if (streq(stages[*ret].name, name))
			return true;
	return false;
}

struct finding *preflight_note(struct preflight *p, enum stage_id id)
{
	const struct stage *s = &stages[id];

	return tally_add(&p->t, id, s->name, arena_printf(p->a, "stage.%s", s->name),
			 s->command ? s->command : s->name);
}

/* The whole of it stands where it failed. */
static const char *not_reached(struct preflight *p, const char *because)
{
	enum { LONG = 120 };
	size_t n = strlen(because);

	if (n <= LONG)
		return arena_printf(p->a, "not reached because %s", because);
	for (n = LONG; n && because[n] != ' '; n--)
		;
	return arena_printf(p->a, "not reached because %.*s ...", n ? (int)n : LONG, because);
}

/* Why this stage cannot be, or NULL. */
static const char *obstacle(struct preflight *p, enum stage_id id)
{
	if (interrupt_pending() && !interrupt_by_budget())
		return "not reached: interrupted";
	for (enum stage_id k = 0; k < S_COUNT; k++)
		if (stages[id].after & BIT(k) && p->run[k].because) {
			p->run[id].because = p->run[k].because; /* the root, not the last link */
			return not_reached(p, p->run[k].because);
		}
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
	if (!preflight_has_time(p, id))
		return false;
	log_progress(stages[id].title, id, S_COUNT);
	preflight_size_up(p, id);
	return true;
}

/* The first failure of the lowest stage: a second look may have found out why. Not that of a host
 * that was left out meanwhile, nor of a shell that no host starts: the others go on. */
static const struct item *root(const struct tally *t, enum stage_id id, size_t from)
{
	const struct item *least = NULL;

	for (size_t i = from; i < t->items.n; i++) {
		const struct item *x = &t->items.v[i];

		if ((x->stage == S_HOSTS && id != S_HOSTS) || x->of_shell)
			continue;
		if (x->f->status == ST_FAIL && (!least || x->stage < least->stage))
			least = x;
	}
	return least;
}

/* What @bad says stands above already; of hosts that gave no answer each would be named by its
 * own words. */
static const char *because(const struct preflight *p, const struct item *bad, size_t from)
{
	host_list mute = {0};

	for (size_t i = from; i < p->t.items.n; i++) {
		const struct finding *f = p->t.items.v[i].f;

		if (f->status == ST_FAIL && streq(f->check, "host.answer") && f->host)
			LIST_ADD(p->a, &mute)->name = f->host;
	}
	if (bad->stage == S_HOSTS && streq(bad->f->check, "host.answer") && mute.n)
		return arena_printf(p->a, "%s failed: %s gave no answer", bad->stage_name,
				    names_fold(p->a, &mute));
	return arena_printf(p->a, "%s failed: %s", bad->stage_name, tally_sentence(p->a, bad->f));
}

void preflight_finish(struct preflight *p, enum stage_id id)
{
	struct stage_run *run = &p->run[id];
	const struct item *bad;

	run->n = p->t.items.n - run->from;
	run->status = tally_status(&p->t, run->from, p->t.items.n);
	if (run->status != ST_SKIP && run->start_ns)
		run->seconds = (double)((now_ns() - run->start_ns) / 1000) / 1e6;
	bad = root(&p->t, id, run->from);
	if (bad)
		run->because = because(p, bad, run->from);
	run->done = true;
	if (stages[id].command && run->status <= ST_FAIL && !run->came_to_nothing)
		p->concluded++;
	log_progress_end();
	if (id != S_PAIRS || !p->doubts)
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

cJSON *preflight_parts(const struct preflight *p)
{
	cJSON *parts = cJSON_GetObjectItemCaseSensitive(report_data(p->r), "parts");

	return parts ? parts : json_object(report_data(p->r), "parts");
}

/* What is shown while a stage runs. */
static struct part_progress progress(const struct preflight *p, enum stage_id id)
{
	const char *title = stages[id].title;

	if (p->group)
		title = arena_printf(p->a, "%s, group %zu of %zu", title, p->group, p->groups);
	return (struct part_progress){title, id, S_COUNT, p->over_fd};
}

/* Of a part's data: all that somebody will read; NULL: that is nothing. */
static cJSON *kept_of(const struct preflight *p, const cJSON *data)
{
	const cJSON *pairs = json_get(data, "pairs");
	cJSON *kept;

	if (preflight_wants_data(p))
		return without_twins(cJSON_Duplicate(data, true));
	if (!report_wants_pairs(p->r, (size_t)cJSON_GetArraySize(pairs)))
		return NULL;
	kept = cJSON_CreateObject();
	cJSON_AddItemToObject(kept, "pairs", cJSON_Duplicate(pairs, true));
	return kept;
}

static void take_data(struct preflight *p, enum stage_id id, const cJSON *doc)
{
	const cJSON *data = json_get(doc, "data");
	const char *line = json_get_str(json_get(data, "local"), "peer_line");

	if (line && !p->peer_line)
		p->peer_line = arena_strdup(p->a, line);
	if (id == S_REACH)
		preflight_find_culprits(p, json_get(data, "matrix"));
	if (id == S_COLLECTIVES || id == S_SWEEP)
		preflight_take_curve(p, data);
	if (cJSON_IsObject(data) && !p->group)
		cJSON_AddItemToObject(preflight_parts(p), stages[id].name, kept_of(p, data));
}

/* Hosts of one image share their name: a rank's is known by its address, too. */
const char *preflight_whose(const struct preflight *p, const cJSON *doc, const cJSON *finding)
{
	const cJSON *ranks = json_get(json_get(json_get(doc, "data"), "world"), "ranks");
	const char *own = json_get_str(doc, "host"), *host = NULL;
	int rank = json_get_int(finding, "rank", -1);

	if (rank >= 0)
		host = preflight_host_of_rank(p, cJSON_GetArrayItem(ranks, rank));
	host = host ?: json_get_str(finding, "host");
	return host && own && !streq(host, own) ? preflight_asked(p, host) : NULL;
}

/* That it was interrupted is what we did to it, when we cut it short. @cut: by us, or with us by a
 * Ctrl-C; @ours: by the budget. */
static void take_findings(struct preflight *p, enum stage_id id, const cJSON *doc, bool cut,
			  bool ours)
{
	const cJSON *f;

	cJSON_ArrayForEach (f, json_get(doc, "findings")) {
		size_t before;

		if (cut && streq(json_text(f, "check"), "run"))
			continue;
		before = p->t.items.n;
		tally_take(&p->t, id, stages[id].name, preflight_whose(p, doc, f), f);
		if (ours && p->t.items.n > before)
			preflight_forgive(p->t.items.v[before].f);
	}
}

/* What measures may be slow, and what it measured until then holds. */
static bool is_only_slow(const struct preflight *p, enum stage_id id, const struct part *got)
{
	size_t from = p->run[id].from;
	enum status st = got->cut && got->doc ? tally_status(&p->t, from, p->t.items.n) : ST_SKIP;

	return id >= S_COLLECTIVES && st != ST_SKIP && st != ST_ERROR;
}

static void say_trouble(struct preflight *p, enum stage_id id, const struct part *got,
			uint64_t cap_ns)
{
	bool slow = is_only_slow(p, id, got);
	struct finding *f = preflight_note(p, id);
	struct unit_buf b;

	if (slow) {
		finding_set(f, ST_WARN,
			    "was not done after %s and was stopped; above is what it finished",
			    format_duration(&b, cap_ns));
		if (p->tier != TIER_FULL && p->given)
			finding_fix(f, "windsock --full %s   # find-slow: who it is",
				    preflight_to(p, p->given));
		return;
	}
	if (got->needless || got->interrupted) { /* it was to end: nothing is to be mended */
		finding_set(f, ST_SKIP, "%s", got->trouble);
		return;
	}
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

/* What every command of a stage is asked, and then @own of it. */
static str_list whole_line(const struct preflight *p, enum stage_id id, const char *const *own,
			   uint64_t cap_ns)
{
	uint64_t beat = id >= S_COLLECTIVES ? preflight_heartbeat(cap_ns) : 0;
	str_list all = {0};

	*LIST_ADD(p->a, &all) = "--json";
	*LIST_ADD(p->a, &all) = arena_printf(p->a, "--deadline=%llums",
					     (unsigned long long)(p->deadline_ns / NS_PER_MS));
	if (beat && p->until_ns)
		*LIST_ADD(p->a, &all) = arena_printf(p->a, "--heartbeat=%llums",
						     (unsigned long long)(beat / NS_PER_MS));
	for (; own && *own; own++)
		*LIST_ADD(p->a, &all) = *own;
	*LIST_ADD(p->a, &all) = NULL;
	return all;
}

cJSON *preflight_run_doc(struct preflight *p, enum stage_id id, const char *const *args, bool takes)
{
	AUTO(part_done) struct part got;
	const struct part_progress shown = progress(p, id);
	uint64_t cap = preflight_cap(p, id);
	str_list all = whole_line(p, id, args, cap);
	bool ours;
	cJSON *doc;

	part_run(stages[id].command, all.v, cap, &shown, p->a, &got);
	ours = preflight_budget_ended(p, id, &got, cap);
	if (takes && got.doc) {
		preflight_as_asked(p, got.doc);
		take_findings(p, id, got.doc, got.cut || got.needless || got.interrupted, ours);
		take_data(p, id, got.doc);
	}
	if (takes && ours)
		preflight_say_cut(p, id, &got);
	else if (takes && got.trouble)
		say_trouble(p, id, &got, cap);
	if (takes)
		note_absent(p, id, &got);
	doc = got.doc;
	got.doc = NULL;
	return doc;
}

void preflight_run_part(struct preflight *p, enum stage_id id, const char *const *args)
{
	cJSON_Delete(preflight_run_doc(p, id, args, true));
}
