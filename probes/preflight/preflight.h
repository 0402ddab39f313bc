#ifndef PROBES_PREFLIGHT_PREFLIGHT_H
#define PROBES_PREFLIGHT_PREFLIGHT_H
/*
 * The whole pre-flight: stages in the order of their dependency. A stage that
 * failed explains those above it, which are not reached; a stage whose command
 * is missing, broken or out of budget is a finding, and the rest goes on.
 */
#include "probes/preflight/part.h"
#include "probes/preflight/tally.h"

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
	unsigned patience; /* longest run, in deadlines */
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
};

struct crew;
struct preflight {
	struct arena *a;
	struct report *r;
	struct tally t;
	enum tier tier;
	uint64_t deadline_ns, until_ns; /* until_ns 0: no budget */
	const char *given, *rsh;	/* --hosts, --rsh */
	host_list hosts;
	const char *nodes_dir;
	struct crew *crew;   /* of those that joined; NULL: hosts are reached from here */
	bool verbose, asked; /* asked: by --here, for somebody who looks at other hosts too */

	struct stage_run run[S_COUNT];
	size_t concluded;	     /* sibling commands that said something */
	const char *absent;	     /* what is not on this host, as the first one said it */
	const char *peer_line;	     /* what portcheck would have typed on a peer */
	str_list usable, blamed;     /* nodes */
	str_list culprits;	     /* of the matrix of who reaches whom */
	str_list same;		     /* paths that must be alike on all hosts */
	const char *page, *baseline; /* --report, --baseline: files, or NULL */
	double began;		     /* seconds since 1970 */
	cJSON *nodes;		     /* of the hosts, for the page */
	const char *covers;
	bool unattributed; /* something between hosts failed that names no node */
};

/* The names of stages, and what they need: preflight_gate() says SKIP where it cannot be. */
bool preflight_gate(struct preflight *p, enum stage_id id);
void preflight_finish(struct preflight *p, enum stage_id id);
/* Of this stage now: its patience, and never more than the budget has. */
uint64_t preflight_cap(const struct preflight *p, enum stage_id id);
struct finding *preflight_note(struct preflight *p, enum stage_id id);
/* Runs a sibling for this stage and takes its findings; its data goes to data.parts.STAGE. */
void preflight_run_part(struct preflight *p, enum stage_id id, const char *const *args);
/* What the collectives (training) of this tier are asked. */
const char *const *preflight_args(const struct preflight *p, enum stage_id id, const char *hosts);

/* report_wants_data(), or the page does. */
bool preflight_wants_data(const struct preflight *p);
void preflight_covers(struct preflight *p, const char *fmt, ...) PRINTF(2, 3);
void preflight_done(struct preflight *p);
int preflight_here(struct preflight *p, struct err *e) MUST_CHECK;
/* One of those that joined (--serve); true in @ret_leads where the report is ours. */
int preflight_crew(struct preflight *p, bool *ret_leads, struct err *e) MUST_CHECK;
int preflight_hosts(struct preflight *p, struct err *e) MUST_CHECK;
/* The fewest hosts that explain the bad pairs of portcheck's matrix, into p->culprits. */
void preflight_find_culprits(struct preflight *p, const cJSON *matrix);
void preflight_between(struct preflight *p); /* its second half */
/* Data of the run, the causes, the node lists; then what the run as a whole came to. */
int preflight_conclude(struct preflight *p, struct err *e) MUST_CHECK;

/* Our own probes. */
void preflight_limits(struct preflight *p);
void preflight_gpus(struct preflight *p);

#endif
