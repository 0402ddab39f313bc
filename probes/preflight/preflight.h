#ifndef PROBES_PREFLIGHT_PREFLIGHT_H
#define PROBES_PREFLIGHT_PREFLIGHT_H
/*
 * The whole pre-flight: stages in the order of their dependency. A stage that
 * failed explains those above it, which are not reached; a stage whose command
 * is missing, broken or out of budget is a finding, and the rest goes on.
 */
#include "lib/cluster/carry.h"
#include "probes/preflight/part.h"
#include "probes/tally/names.h"
#include "probes/tally/tally.h"

enum tier { TIER_QUICK, TIER_DEFAULT, TIER_FULL };

/* In the order in which causes are ranked. */
enum stage_id {
	S_HOSTS, /* does every host answer */
	S_INTERFACE,
	S_SETTINGS,
	S_LIMITS,
	S_GPUS,
	S_PORTS,
	S_DRIFT, /* what differs between hosts */
	S_REACH, /* between hosts: every port, each to each */
	S_PATHS, /* between hosts: through the chosen interfaces */
	S_COLLECTIVES,
	S_TRAINING,
	S_PAIRS, /* from here on --full: bandwidth and latency of every pair */
	S_SLOW,	 /* who stands out, measured once more */
	S_SWEEP,
	S_EXPECT,   /* training, against what was measured below it */
	S_BASELINE, /* an earlier run */
	S_COUNT,
};

struct stage {
	const char *name;
	const char *title;   /* for people */
	const char *command; /* NULL: our own probe */
	unsigned after;	     /* BIT()s of the stages that must not have failed */
	enum tier tier;	     /* the first that has it */
	unsigned estimate_ms;
	unsigned patience;    /* longest run, in deadlines */
	unsigned per_host_ms; /* each host makes it so much longer */
	unsigned weight;      /* its part of what a budget has left; 0: what it takes */
};
#define BIT(id) (1u << (id))
extern const struct stage stages[S_COUNT];
bool stage_find(const char *name, enum stage_id *ret);

struct stage_run {
	bool begun, done;
	enum status status;
	const char *because; /* what failed, for the stages above; NULL when it did not */
	size_t from, n;	     /* its items in the tally */
	double seconds;
	uint64_t start_ns;
	bool cut, left_out;		/* by the budget: in the middle; before it began */
	bool came_to_nothing, may_hang; /* when it was cut; although it had the time it takes */
};

/* How long one collective took, by its size. */
struct curve_point {
	double bytes, seconds;
};
typedef LIST(struct curve_point) curve;

/* What a host is called, and what it was asked for as; NULL: as more than one. */
struct called {
	const char *name, *asked;
};
typedef LIST(struct called) called_list; /* by name */

struct crew;
struct preflight {
	struct arena *a;
	struct report *r;
	struct tally t;
	enum tier tier;
	uint64_t deadline_ns;
	uint64_t budget_ns, until_ns; /* 0: no budget; until: what of it is for tests ends then */
	const char *given, *rsh;      /* --hosts, --rsh */
	bool copy_self, keep;
	bool is_slurms; /* hosts are named as Slurm names its nodes: they are those of its job */
	struct carry carry; /* on the hosts until we are done */
	bool adrift;	    /* it went away, and could not be brought again */
	host_list hosts;
	struct host_way way; /* to them */
	const char *nodes_dir;
	struct crew *crew;  /* of those that joined; NULL: hosts are reached from here */
	const char *lost;   /* why there is no such run any more: one of them is gone; or NULL */
	int over_fd;	    /* can be read from as soon as that is known; 0: there is none */
	bool verbose, here; /* here: this machine alone, as somebody said */
	bool asked;	    /* by a run of several hosts, of which this is one */
	bool burst;	    /* a second of work on each GPU, also with --quick */
	bool tells_next;    /* people read it, and a warning is no failure */

	struct stage_run run[S_COUNT];
	size_t concluded;	    /* sibling commands that said something */
	size_t left_out;	    /* stages that the budget had no room for, or cut short */
	const char *absent;	    /* what is not on this host, as the first one said it */
	const char *peer_line;	    /* what portcheck would have typed on a peer */
	const char *peers;	    /* drift_peer_args(); NULL: nobody answered */
	str_list usable;	    /* nodes */
	struct names blamed, known; /* nodes; those that were asked for */
	called_list called;	    /* what they are called beside */
	struct names odd;	    /* nodes whose NCCL would publish another address than proven */
	struct names alone;	    /* nodes that speak another family of addresses than most */
	bool settings_differ;	    /* between nodes */
	bool doubts;		    /* of the pairs: not shown before they are measured again */
	str_list culprits;	    /* of the matrix of who reaches whom */
	str_list same;		    /* paths that must be alike on all hosts */
	const char *master;	    /* a name that must mean one host on all of them, or NULL */
	bool master_given;	    /* by somebody: it is no guess */
	const char *master_at;	    /* it was given as this address, which needs no name; or NULL */
	const char *page;	    /* --report: of a run that was compared; a file, or NULL */
	const char *checkpoint;	    /* a folder that training saves to, or NULL */
	cJSON *baseline;	    /* an earlier run to compare with, or NULL; freed with us */
	const char *covers;
	bool unattributed; /* something between hosts failed that names no node */
	size_t width;	   /* hosts of this run; 0: this one alone */
	unsigned gpus;	   /* of the host that has the fewest */
	bool one_machine;  /* two of them are one: what they do at a time, they do to each other */
	curve curve;	   /* of the collectives; the larger sizes later */
	size_t groups, group; /* while a stage goes through groups of hosts: how many, which */
	bool grouped;	      /* ways between groups were not tested */
	uint64_t within_ns;   /* what a sweep's table fits into; 0: nobody says */
};

/* The names of stages, and what they need: preflight_gate() says SKIP where it cannot be. */
bool preflight_gate(struct preflight *p, enum stage_id id);
void preflight_finish(struct preflight *p, enum stage_id id);
/* No run of this stage takes longer. */
uint64_t preflight_patience(const struct preflight *p, enum stage_id id);
/* Of this stage now: its patience, and never more than the budget has. */
uint64_t preflight_cap(const struct preflight *p, enum stage_id id);
/* Is a burst of work on each GPU a part of this run? */
bool preflight_bursts(const struct preflight *p);
/* What a host is given to look at itself, the burst with it: it answers within the cap of the
 * hosts' stage. */
uint64_t preflight_host_cap(const struct preflight *p);
/* Is there time to begin it? If not, that is said. */
bool preflight_has_time(struct preflight *p, enum stage_id id);
/* Was it the budget that ended this part, which had @cap_ns? Then that is to be said so. */
bool preflight_budget_ended(const struct preflight *p, enum stage_id id, const struct part *got,
			    uint64_t cap_ns);
void preflight_say_cut(struct preflight *p, enum stage_id id, const struct part *got);
/* Of what had not come to an end when the budget did, an error says nothing: it is left out. */
void preflight_forgive(struct finding *f);
/* What has run: would it once more end within what is left? */
bool preflight_fits_again(const struct preflight *p, enum stage_id id);
/* After so much silence a rank of a stage that has @cap_ns is lost; 0: as usual. */
uint64_t preflight_heartbeat(uint64_t cap_ns);
/* The command line with a budget that may do. */
const char *preflight_with_time(const struct preflight *p);
/* That, on a line of what did not fit. Once in a run. */
void preflight_advise_time(struct preflight *p, struct finding *f);
/* " --quick", "", " --full": what is typed for it. */
const char *preflight_tier_word(const struct preflight *p);
/* "--rsh CMD --hosts HOSTS --copy-self": @hosts on the way that this run went itself. */
const char *preflight_to(const struct preflight *p, const char *hosts);
/* The names of the stages that did not fit, or NULL. */
const char *preflight_unfinished(const struct preflight *p);
struct finding *preflight_note(struct preflight *p, enum stage_id id);
/* Runs a sibling for this stage and takes its findings; its data goes to data.parts.STAGE. */
void preflight_run_part(struct preflight *p, enum stage_id id, const char *const *args);
/* The same, with its document, which the caller frees; NULL: there is none. Without @takes
 * nothing of it becomes a finding: it was measured once more. */
cJSON *preflight_run_doc(struct preflight *p, enum stage_id id, const char *const *args,
			 bool takes);
/* ncclbench tries pairs of hosts at once, too (--together), which takes a while longer. */
bool preflight_at_once(const struct preflight *p);
/* What the collectives (training) of this tier are asked. */
const char *const *preflight_args(const struct preflight *p, enum stage_id id, const char *hosts);

/* report_wants_data(), or a comparison does. */
bool preflight_wants_data(const struct preflight *p);
void preflight_covers(struct preflight *p, const char *fmt, ...) PRINTF(2, 3);
void preflight_done(struct preflight *p);
int preflight_here(struct preflight *p, struct err *e) MUST_CHECK;
/* One of those that joined (--serve); true in @ret_leads where the report is ours. */
int preflight_crew(struct preflight *p, bool *ret_leads, struct err *e) MUST_CHECK;
int preflight_hosts(struct preflight *p, struct err *e) MUST_CHECK;
/* --copy-self: our programs, onto all hosts. */
int preflight_carry(struct preflight *p, uint64_t deadline_ns, struct err *e) MUST_CHECK;
/* Before a stage: are they there still? Otherwise they are brought again; false: they are not. */
bool preflight_carried(struct preflight *p, enum stage_id id);
/* After it: did it fail because they went away meanwhile? Its findings from @from on say that they
 * are no news of the hosts; true, with @once_more: begin it again. */
bool preflight_uncarried(struct preflight *p, enum stage_id id, size_t from, bool once_more);
/* The name that a host was asked for by: of one of its own names, or of an address; those of no
 * host of this run, or of several, stay as they are. */
const char *preflight_asked(const struct preflight *p, const char *name);
/* Of an element of data.world.ranks; NULL: it names none. */
const char *preflight_host_of_rank(const struct preflight *p, const cJSON *rank);
/* Which host that of a part's document is about; NULL: this one. */
const char *preflight_whose(const struct preflight *p, const cJSON *doc, const cJSON *finding);
/* The subjects of a document's findings, and the hosts that their lines to type go to. */
void preflight_as_asked(const struct preflight *p, cJSON *doc);
/* Of --same and --master what each host is asked. */
void preflight_ask_alike(const struct preflight *p, str_list *args);
/* The file in which a variable of these (a|b) is set for every shell there: to be changed. */
void preflight_set_where(struct finding *f, const char *names);
/* Advice of items from @from on: an interface is proven against the others, and hosts that were
 * logged in to are told what lasts. */
void preflight_advise_logins(const struct preflight *p, size_t from);
/* The fewest hosts that explain the bad pairs of portcheck's matrix, into p->culprits. */
void preflight_find_culprits(struct preflight *p, const cJSON *matrix);
void preflight_between(struct preflight *p); /* its second half */
/* The reach stage on hosts that are reached from here: twice, where the first run broke. */
void preflight_reach(struct preflight *p, const char *const *args);
/* The ways that programs would take by the settings they have, on these of the hosts. */
void preflight_published(struct preflight *p, const host_list *hosts);
/* After the training named a slow rank: is it as slow again? Otherwise that is a remark. After the
 * collectives lost packets: whose are they, of these @n hosts? */
void preflight_measure_again(struct preflight *p, enum stage_id id, const char *hosts, size_t n);
enum { PREFLIGHT_FEW = 32 }; /* hosts, of which a second measurement takes seconds */
/* After ranks were lost in this stage between @hosts, or it may hang: the ways between them, once
 * more. True: some are not there any more. */
bool preflight_look_again(struct preflight *p, enum stage_id id, const char *hosts);
/* More hosts than all pairs can be tested of: how many groups; the hosts of one; all in turn. */
size_t preflight_groups(size_t hosts);
void preflight_deal(struct arena *a, const host_list *hosts, size_t groups, size_t which,
		    host_list *ret);
void preflight_run_groups(struct preflight *p, enum stage_id id, const host_list *hosts);
cJSON *preflight_parts(const struct preflight *p); /* data.parts */
/* What --full adds: this stage on @hosts of them, folded in @names (NULL: this one). */
void preflight_full(struct preflight *p, enum stage_id id, const char *names, size_t hosts);
/* The times of a sweep's document. */
void preflight_take_curve(struct preflight *p, const cJSON *data);
/* What a sweep fits into, which decides how far it goes. */
void preflight_size_up(struct preflight *p, enum stage_id id);
/* Is a host of this run of ddpsmoke far from the others? Then it is worth a second run. */
bool preflight_is_uneven(struct preflight *p, const cJSON *data);
/* That run by host, and against what its parts promise. @again: a second run, or NULL; who was
 * slow in both is a finding. */
void preflight_judge_training(struct preflight *p, const cJSON *data, const cJSON *again);
/* --nodes: could these files be written at the end? */
int preflight_check_nodes(struct arena *a, const char *nodes, struct err *e) MUST_CHECK;
/* Data of the run, the causes, the node lists; then what the run as a whole came to. */
int preflight_conclude(struct preflight *p, struct err *e) MUST_CHECK;
/* All hosts, and what is between them, have passed: what to type for one's own job. */
void preflight_tell_next(struct preflight *p);
enum { PREFLIGHT_NAMES = 160 }; /* names that are longer are no part of a line to type */

/* Our own probes: probes/node, as stages of this run. */
void preflight_limits(struct preflight *p);
void preflight_gpus(struct preflight *p);

#endif
