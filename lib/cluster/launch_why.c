/* Why a host takes no part, or no longer: how its agent ended, or that it is of another build. */
#include "lib/cluster/launch_agents.h"

#include "lib/cluster/carry.h"
#include "lib/cluster/mend.h"
#include "lib/cluster/trouble_words.h"
#include "lib/cluster/typed_way.h"
#include "lib/core/quote.h"
#include "lib/core/self.h"
#include "lib/core/version.h"
#include "lib/report/typed.h"

enum { SIGNALS = 64, QUOTED_VERSION = 20, NO_SSH = 255 };

/* ---- how it ended ---- */
static const char *last_line(struct agent_host *h) { return trouble_last_line(h->of->a, h->tail); }

/* Is it a node that srun complains of, and not of the job, the controller or itself? */
static bool speaks_of_node(const char *said)
{
	static const char *const words[] = {"node not available",    "Node failure",
					    "not responding",	     "Unable to contact",
					    "Communication connect", "Unable to resolve",
					    "Zero Bytes were",	     "Slurmd could not"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strstr(said, words[i]))
			return true;
	return false;
}

static const char *own_name(struct arena *a)
{
	const char *own = agent_own_path(a), *slash = strrchr(own, '/');

	return slash ? slash + 1 : own;
}

/* The words that were to start it on that host. */
static const char *way_to(const struct agent_host *h)
{
	return h->of->o.srun ? "srun" : h->of->rsh.name ?: "ssh";
}

/* The signal that ended the agent there, by its exit code (AGENT_KILLED); 0: none is known. */
static int told_signal(const struct agent_host *h)
{
	return h->status > AGENT_KILLED && h->status <= AGENT_KILLED + SIGNALS
		       ? h->status - AGENT_KILLED
		       : 0;
}

/*
 * Whose end it is, and how: of the agent where a signal is known to have ended it, else of what
 * was to start it. NULL: there is nothing more to say of it than that it has ended.
 */
static const char *killed(const struct agent_host *h)
{
	struct arena *a = h->of->a;
	const char *who = h->local ? "the agent on this machine" : "the agent there";
	int told = told_signal(h);

	if (told || h->sig)
		return arena_printf(a, "%s was %s",
				    told || h->local ? who : arena_printf(a, "%s here", way_to(h)),
				    child_ending(-1, told ? told : h->sig, a));
	return h->local && h->status
		       ? arena_printf(a, "%s ended with %s", who, child_ending(h->status, 0, a))
		       : NULL;
}

/* What else that may mean, behind another way than ssh. */
static const char *or_stopped(const struct agent_host *h)
{
	const struct rsh_way rsh = {.name = way_to(h)};

	return h->local || h->of->o.srun ? "" : trouble_or_stopped(&rsh, told_signal(h));
}

/* What ended there by itself, or was killed, has another exit code than its way's: ssh's is one,
 * kubectl's, docker's or a wrapper's is any that is not the agent's. */
static bool is_ways_own(const struct agent_host *h)
{
	if (h->local || h->of->o.srun || h->status <= 0)
		return false;
	if (rsh_is_ssh(way_to(h)))
		return h->status == NO_SSH;
	return h->status != EXIT_UNABLE &&
	       (h->status <= AGENT_KILLED || h->status > AGENT_KILLED + SIGNALS);
}

/* It was at work. To this machine there is no connection that could break. */
static const char *lost(struct agent_host *h)
{
	struct arena *a = h->of->a;
	const char *how = killed(h), *said = *h->tail ? last_line(h) : NULL;

	if (h->link.doom) /* what came then is our own doing */
		return h->local ? arena_printf(a, "the agent on this machine is given up: %s",
					       h->link.doom)
				: arena_printf(a, "lost %s: %s", h->h->hostname, h->link.doom);
	if (!how && is_ways_own(h) && h->status != NO_SSH)
		how = arena_printf(a, "%s ended with %s", way_to(h), child_ending(h->status, 0, a));
	if (!how)
		how = h->local ? "the agent on this machine has ended"
			       : "the connection to it ended";
	if (!h->local)
		how = arena_printf(a, "lost %s: %s", h->h->hostname, how);
	return arena_printf(a, "%s%s%s%s", how, or_stopped(h), said ? ": " : "", said ?: "");
}

bool agent_is_cut_off(const struct agent_host *h) { return is_ways_own(h) && h->h->trouble; }

static const char *not_ready(struct agent_host *h)
{
	const char *how = killed(h);

	if (!how)
		how = arena_printf(h->of->a, "%s ended", h->local ? "the agent" : "srun");
	return arena_printf(h->of->a, "%s: %s before it was ready%s%s%s", h->h->name, how,
			    or_stopped(h), *h->tail ? ": " : "", last_line(h));
}

/* What was typed, with it; but for --json, as nobody reads that here. What stands behind "--" is
 * another's. NULL: a part of a pre-flight, or more than can be typed. */
static const char *typed_with_copy(struct arena *a, const char *own)
{
	static const char copy[] = " --copy-self";
	enum { LONG = 400 };
	bool is_set = false;
	str_list words;
	struct text t;

	self_words(a, &words);
	text_init(&t, a);
	text_add(&t, shell_quote(a, own));
	for (size_t i = 1; i < words.n; i++) {
		if (streq(words.v[i], "--json"))
			continue;
		if (!is_set && streq(words.v[i], "--"))
			text_add(&t, copy);
		is_set |= streq(words.v[i], "--");
		text_addf(&t, " %s", shell_quote_line(a, rsh_shown(a, words.v[i])));
	}
	text_addf(&t, "%s   # brings it along", is_set ? "" : copy);
	return words.n && t.n < LONG && !getenv(WORLD_NO_RANK) ? t.s : NULL;
}

/* NULL: so many that no line can be typed. */
static const char *with_copy(const struct launch *L, const char *own)
{
	enum { LONG = 160 };
	const char *hosts = L->o.hosts ? hostlist_fold(L->a, L->o.hosts) : "";
	const char *typed = *hosts ? typed_with_copy(L->a, own) : NULL;

	if (typed)
		return typed;
	return *hosts && strlen(hosts) < LONG ? carry_advice(L->a, own, L->o.rsh, hosts) : NULL;
}

const char *agent_why_gone(struct agent_host *h)
{
	struct launch *L = h->of;
	struct fanout_result r = {.host = h->h->name,
				  .alone = L->o.hosts && L->o.hosts->n == 1,
				  .started = true,
				  .timed_out = h->timed_out,
				  .asks = h->asks,
				  .exit_status = h->status,
				  .signal = h->sig,
				  .out = h->link.noise,
				  .err = h->tail};
	const struct rsh_way rsh = {.name = way_to(h), .typed = L->rsh.typed ?: "ssh"};
	const char *own = own_name(L->a);
	bool ssh = !L->o.srun && !h->local;
	struct trouble t = {0};

	if (h->state == AGENT_UP && !h->timed_out)
		return lost(h);
	if (ssh || (L->o.srun && h->status == 127))
		t = fanout_trouble(&r, &rsh, own, L->o.deadline_ns, L->a);
	if (t.missing && !L->o.copy_self) {
		t.fix = with_copy(L, own) ?: t.fix;
		t.said = arena_printf(L->a,
				      TROUBLE_NOT_THERE "; install it there, or let --copy-self "
							"carry it",
				      own, h->h->name);
	} else if (ssh && (!t.said || t.missing) && !killed(h))
		t = fanout_silence(&r, &rsh, own, L->a);
	if (ssh)
		h->h->way_fix = t.fix;
	if (t.said)
		return t.said;
	if (h->timed_out)
		return arena_printf(
			L->a,
			"%s: no answer through %s; try it by hand, or allow more with --deadline",
			h->h->name, h->local ? "the agent" : way_to(h));
	h->h->way_broken = L->o.srun && !h->local && !speaks_of_node(h->tail);
	return not_ready(h);
}

void agent_misspoke(struct agent_host *h, const char *why)
{
	const struct launch *L = h->of;
	const struct fanout_result r = {.host = h->h->name};
	const struct rsh_way rsh = {.name = way_to(h), .typed = L->rsh.typed ?: "ssh"};

	h->h->trouble = arena_printf(L->a, "%s: %s", h->h->name, why);
	if (!h->local && !h->joined && !L->o.srun)
		h->h->way_fix = mend_line(MEND_QUIET, &r, &rsh, L->a);
}

const char *launch_fix(const struct launch_host *h, struct arena *a)
{
	if (h->fix)
		return fix_placed(a, h->fix, arena_printf(a, "on %s", h->name));
	return h->local ? LAUNCH_LOOK_HERE : h->way_fix;
}

const char *launch_between(const struct launch_opts *o, struct arena *a)
{
	const char *line;

	if (o->serve || o->srun || !o->hosts || o->hosts->n < 2)
		return NULL;
	line = typed_for(a, "portcheck", o->rsh, hostlist_fold(a, o->hosts));
	return o->copy_self ? arena_printf(a, "%s --copy-self", line) : line;
}

/* It answered: its way is right, and it says what it lacks. A program of ours that is not beside
 * the agent is brought from here. */
void agent_advise_short(struct agent_host *h, const char *lacks)
{
	const struct launch *L = h->of;
	bool ours = strstr(lacks, "No such file");

	if (h->local && !ours)
		return;
	if (ours && !h->local && !h->joined && !L->o.srun && !L->o.copy_self)
		h->h->way_fix = with_copy(L, own_name(L->a));
	if (strstr(lacks, "Permission denied") || strstr(lacks, "not permitted"))
		h->h->fix =
			"id; dmesg | grep -iE 'denied|avc' | tail   # what confines it: SELinux, "
			"AppArmor, a container";
	else if (!ours)
		h->h->fix = "ulimit -a; free -m; df -h";
	else if (!h->h->way_fix)
		h->h->fix =
			"command -v windsock ifprobe portcheck ncclbench ddpsmoke; make install";
}

/* ---- another build ---- */
const char *agent_fix_other(const struct agent_host *h)
{
	struct arena *a = h->of->a;
	const char *own = agent_own_path(a);
	const char *slash = strrchr(own, '/');

	if (h->local || h->joined || h->of->o.srun || !slash)
		return NULL;
	return with_copy(h->of, own_name(a))
		       ?: arena_printf(a, "%s   # from here",
				       typed_copy(a, h->of->rsh.typed ?: "ssh", h->h->name,
						  shell_quote(a, own), own));
}

/* Of the same version, too: there the number says nothing, and which program it is says all. */
const char *agent_why_other(const struct agent_host *h, const char *version, uint32_t protocol)
{
	struct arena *a = h->of->a;

	if (!streq(version, WINDSOCK_VERSION))
		return h->visitor ? arena_printf(a,
						 "this is version %.*s and that run is of %s: "
						 "install the same",
						 QUOTED_VERSION, version, WINDSOCK_VERSION)
				  : arena_printf(a,
						 "%s has version %s and this is %s: install the "
						 "same on both, or let --copy-self carry this one",
						 h->h->name, version, WINDSOCK_VERSION);
	if (h->visitor)
		return arena_printf(a,
				    "this is another build of version %s than that run's (they "
				    "speak protocols %u and %d): copy that host's %.400s here",
				    WINDSOCK_VERSION, protocol, AGENT_PROTOCOL, agent_own_path(a));
	return arena_printf(a,
			    "%s has another build of version %s than this (they speak protocols %u "
			    "and %d): copy %s there, or let --copy-self carry it",
			    h->h->name, WINDSOCK_VERSION, protocol, AGENT_PROTOCOL,
			    agent_own_path(a));
}
