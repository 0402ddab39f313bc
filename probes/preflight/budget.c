/*
 * Who gets how much of the budget. A stage gets its part by weight, and what it
 * needs at the least; what this run took so far, against what quiet hosts take,
 * says how much that is here. What a stage cut short has found holds; that it
 * was cut short says nothing about us, and about the cluster only where the stage
 * had the time that it takes.
 */
#include "lib/cluster/rsh.h"
#include "lib/core/interrupt.h"
#include "lib/core/quote.h"
#include "lib/core/units.h"
#include "lib/host/sysroot.h"
#include "probes/node/node.h"
#include "probes/preflight/preflight.h"

#include <math.h>

enum { SLACK = 6 }; /* a busy host: so many times what one takes of a quiet one */
enum { MANY_GPUS = 8 };
#define QUICKEST 0.25
static const uint64_t GPU_START_NS = 10 * NS_PER_S;
static const uint64_t BURST_START_NS = 30 * NS_PER_S; /* of many that no daemon keeps awake */
static const uint64_t AT_ONCE_NS =
	4 * NS_PER_S; /* ncclbench --together, of as many hosts as there are */
/* So long beyond its deadline portcheck waits for a host to begin; and to say which one did not. */
static const uint64_t BEGIN_NS = 25 * NS_PER_S;
static const uint64_t MARGIN_NS = NS_PER_S; /* to end what is cut short */

static uint64_t per_host_ns(const struct preflight *p, enum stage_id id)
{
	return stages[id].per_host_ms * NS_PER_MS * p->width;
}

/* Training wakes them first, where there are any (other hosts are taken to be alike). */
static uint64_t start_ns(enum stage_id id)
{
	bool trains = streq(stages[id].command ? stages[id].command : "", "ddpsmoke");

	return trains && sysroot_exists("/proc/driver/nvidia/version") ? GPU_START_NS : 0;
}

static uint64_t at_once_ns(const struct preflight *p, enum stage_id id)
{
	return id == S_PAIRS && preflight_at_once(p) ? AT_ONCE_NS : 0;
}

bool preflight_bursts(const struct preflight *p) { return p->burst || p->tier > TIER_QUICK; }

/* Of the hosts that are asked, or of this one: nobody knows their GPUs yet. */
static uint64_t burst_ns(const struct preflight *p, enum stage_id id)
{
	bool holds = id == S_HOSTS || id == S_GPUS;

	return holds && preflight_bursts(p) ? BURST_START_NS + node_burst_ns(MANY_GPUS) : 0;
}

static uint64_t need_ns(const struct preflight *p, enum stage_id id)
{
	return stages[id].estimate_ms * NS_PER_MS + per_host_ns(p, id) + start_ns(id) +
	       at_once_ns(p, id);
}

static uint64_t scaled(uint64_t ns, double by) { return (uint64_t)((double)ns * by); }

/* So many times what is estimated, as far as this run tells. What failed, or came to nothing,
 * waited for something; a burst takes its time on any host. */
static double pace(const struct preflight *p)
{
	double took = 0, estimated = 0, by;

	for (enum stage_id id = 0; id < S_COUNT; id++) {
		const struct stage_run *run = &p->run[id];

		if (burst_ns(p, id) || !run->done || !(run->seconds > 0) ||
		    run->status == ST_FAIL || run->status == ST_ERROR || run->came_to_nothing ||
		    !stages[id].estimate_ms)
			continue;
		took += run->seconds;
		estimated += (double)need_ns(p, id) / 1e9;
	}
	by = estimated > 0 ? took / estimated : 1;
	return by < QUICKEST ? QUICKEST : by > SLACK ? SLACK : by;
}

static uint64_t need_here_ns(const struct preflight *p, enum stage_id id)
{
	return scaled(need_ns(p, id), fmax(1, pace(p)));
}

static uint64_t left_ns(const struct preflight *p)
{
	uint64_t now = now_ns();

	return !p->until_ns ? UINT64_MAX : now < p->until_ns ? p->until_ns - now : 0;
}

/* What the stages of this tier behind it must have; their weights to those in @weights. */
static uint64_t later_ns(const struct preflight *p, enum stage_id id, double by, unsigned *weights)
{
	uint64_t later = 0;

	for (enum stage_id k = id + 1; k < S_COUNT; k++) {
		if (stages[k].tier > p->tier || !stages[k].weight)
			continue;
		*weights += stages[k].weight;
		later += scaled(need_ns(p, k), by) + MARGIN_NS;
	}
	return later;
}

/* By weight; what the later stages of this tier must have is not this one's, but it always gets
 * what it needs, and so does one that somebody asks for of a higher tier. */
static uint64_t part_ns(const struct preflight *p, enum stage_id id, uint64_t left)
{
	double by = pace(p);
	uint64_t own = scaled(need_ns(p, id), fmax(1, by)), later, part;
	unsigned all = stages[id].weight;

	if (!all || left == UINT64_MAX)
		return left;
	later = later_ns(p, id, by, &all);
	part = left / all * stages[id].weight;
	if (later < left && part > left - later)
		part = left - later;
	return part > own ? part : own;
}

uint64_t preflight_patience(const struct preflight *p, enum stage_id id)
{
	uint64_t most =
		stages[id].patience * p->deadline_ns + SLACK * per_host_ns(p, id) + burst_ns(p, id);
	uint64_t begins = id == S_REACH ? p->deadline_ns + BEGIN_NS : 0;

	return most > begins ? most : begins;
}

uint64_t preflight_cap(const struct preflight *p, enum stage_id id)
{
	uint64_t patience = preflight_patience(p, id);
	uint64_t left = left_ns(p), part = part_ns(p, id, left);

	part = part < left ? part : left;
	return patience < part ? patience : part;
}

/* One deadline is a login's. The burst gets what the stages behind do not need. */
uint64_t preflight_host_cap(const struct preflight *p)
{
	uint64_t cap = preflight_cap(p, S_HOSTS),
		 most = (stages[S_HOSTS].patience - 1) * p->deadline_ns;
	uint64_t left = left_ns(p), burst = burst_ns(p, S_HOSTS), kept, spare;
	unsigned weights = 0;

	kept = most + later_ns(p, S_HOSTS, 1, &weights);
	spare = kept < left ? left - kept : 0;
	most += burst < spare ? burst : spare;
	return most < cap ? most : cap;
}

/* ---- what did not fit ---- */

static bool is_ours(const struct preflight *p, enum stage_id id)
{
	bool between = id == S_HOSTS || id == S_DRIFT || id == S_REACH || id == S_PATHS;

	return stages[id].tier <= p->tier && (p->width || !between);
}

/* In seconds or minutes: twice as much, and what all stages are estimated to take here. */
static const char *longer(const struct preflight *p)
{
	uint64_t all = MARGIN_NS, s;

	for (enum stage_id id = 0; id < S_COUNT; id++)
		all += is_ours(p, id) ? scaled(need_here_ns(p, id), 1.25) : 0;
	all = fmax((double)all, 2 * (double)p->budget_ns);
	s = (all + NS_PER_S - 1) / NS_PER_S;
	return arena_printf(p->a, s < 120 ? "%llus" : "%llum",
			    (unsigned long long)(s < 120 ? s : (s + 59) / 60));
}

const char *preflight_tier_word(const struct preflight *p)
{
	static const char *const tiers[] = {" --quick", "", " --full"};

	return tiers[p->tier];
}

const char *preflight_to(const struct preflight *p, const char *hosts)
{
	const char *rsh = p->rsh && *p->rsh
				  ? arena_printf(p->a, "--rsh %s ",
						 shell_quote(p->a, rsh_shown(p->a, p->rsh)))
				  : "";

	return arena_printf(p->a, "%s--hosts %s%s", rsh, shell_quote(p->a, hosts),
			    p->copy_self ? " --copy-self" : "");
}

const char *preflight_with_time(const struct preflight *p)
{
	const char *hosts = p->given  ? arena_printf(p->a, " %s", preflight_to(p, p->given))
			    : p->crew ? " --serve"
			    : p->here ? " --here"
				      : "";

	return arena_printf(p->a, "windsock%s%s --budget %s", preflight_tier_word(p), hosts,
			    longer(p));
}

/* Once is enough; one that was asked by another host was given what that one had. */
void preflight_advise_time(struct preflight *p, struct finding *f)
{
	if (p->left_out++ || p->asked || !p->budget_ns)
		return;
	finding_fix(f, "%s   # or without a budget", preflight_with_time(p));
}

bool preflight_fits_again(const struct preflight *p, enum stage_id id)
{
	double took = p->run[id].seconds;

	return left_ns(p) >=
	       (took > 0 ? scaled(NS_PER_S, 2 * took) + MARGIN_NS / 2 : need_here_ns(p, id));
}

/* On what the need rests: an estimate alone where this run is not slower than that. */
static const char *measured(const struct preflight *p)
{
	const double worth_telling = 1.5, by = pace(p);

	if (by < worth_telling)
		return "";
	return arena_printf(p->a, " here (what ran before took %.2g times as long as estimated)",
			    by);
}

bool preflight_has_time(struct preflight *p, enum stage_id id)
{
	uint64_t need = need_here_ns(p, id);
	struct finding *f;
	struct unit_buf b;

	if (left_ns(p) >= need)
		return true;
	f = preflight_note(p, id);
	finding_set(f, ST_SKIP, "left out: it takes about %s%s, more than the budget has left",
		    format_duration(&b, need), measured(p));
	preflight_advise_time(p, f);
	p->run[id].left_out = true;
	return false;
}

bool preflight_budget_ended(const struct preflight *p, enum stage_id id, const struct part *got,
			    uint64_t cap_ns)
{
	return got->cut && (cap_ns < preflight_patience(p, id) || interrupt_by_budget());
}

/* Between hosts, what had the time that it takes and came to nothing may have waited for a rank
 * that hangs: a budget is no excuse for that. Nor is it where it came to something (@any) and had
 * many times as long. */
static bool may_hang(const struct preflight *p, enum stage_id id, const struct part *got, bool any)
{
	enum { MANY = 3 * SLACK };

	return id >= S_REACH && got->took_ns >= (any ? MANY : 1) * need_here_ns(p, id) &&
	       (!any || stages[id].tier < TIER_FULL); /* these fill the time that there is */
}

void preflight_say_cut(struct preflight *p, enum stage_id id, const struct part *got)
{
	bool any = tally_status(&p->t, p->run[id].from, p->t.items.n) != ST_SKIP;
	bool hangs = may_hang(p, id, got, any);
	struct finding *f = preflight_note(p, id);
	struct unit_buf b, usual;

	finding_set(f, hangs ? ST_WARN : ST_SKIP,
		    "did not fit into the budget: stopped after %s%s%s%s",
		    format_duration(&b, got->took_ns),
		    any ? "; above is what it finished" : ", before it came to anything",
		    hangs ? "; it hangs, or is slow: it takes about " : "",
		    hangs ? format_duration(&usual, need_ns(p, id)) : "");
	preflight_advise_time(p, f);
	p->run[id].cut = true;
	p->run[id].came_to_nothing = !any;
	p->run[id].may_hang = hangs;
}

void preflight_forgive(struct finding *f)
{
	if (f->status != ST_ERROR)
		return;
	finding_set(f, ST_SKIP, "%s", f->message);
	f->fix.n = 0;
}

/* A rank that is silent must be named before the stage's time is over; but not one that a busy
 * host keeps from running for a moment. */
uint64_t preflight_heartbeat(uint64_t cap_ns)
{
	static const uint64_t least = 4 * NS_PER_S, usual = 10 * NS_PER_S;
	uint64_t half = cap_ns / 2;

	return half >= usual ? 0 : half > least ? half : least;
}

const char *preflight_unfinished(const struct preflight *p)
{
	struct text t;

	text_init(&t, p->a);
	for (enum stage_id id = 0; id < S_COUNT; id++)
		if (p->run[id].cut || p->run[id].left_out)
			text_addf(&t, "%s%s", t.n ? ", " : "", stages[id].name);
	return t.n ? t.s : NULL;
}
