#ifndef BENCH_SWEEP_STORY_H
#define BENCH_SWEEP_STORY_H
/*
 * The reporting side of a benchmark: takes the ranks' events as they come, and
 * makes table, data and findings of them. It never talks to a rank, so what was
 * finished is told whatever became of them.
 */
#include "bench/plugin/counters.h"
#include "bench/ranks/hosts.h"
#include "bench/replay/replay.h"
#include "bench/sweep/again.h"
#include "bench/sweep/at_once.h"
#include "bench/sweep/blame.h"
#include "bench/sweep/burnin.h"
#include "bench/sweep/groups_judge.h"
#include "bench/sweep/pace.h"
#include "bench/sweep/resent.h"
#include "lib/report/report.h"

struct bench_rank {
	const char *host, *address, *device;
	const char *machine;  /* of its host, beside others of that name */
	const char *instance; /* the type, in a cloud; NULL: none known */
	const char *bus;      /* where its GPU is; NULL: there is none, or it is not known */
	int gpu;	      /* its number there */
	int pid;
	int group;	 /* its number; -1: it looks on */
	int gpus;	 /* of its host, NVIDIA's; 0: not known */
	double nic_gbps; /* of the card that carries its data; NAN: not known */
};

struct story_row { /* a row, and the case that it points to */
	struct coll_case c;
	struct sweep_row row;
};

struct story_counters { /* of a host, before and after */
	const char *host;
	counter_list before, after;
};

struct story_pair {	/* directed: what a sends to b; numbers of units */
	int a, b, rail; /* rail: of story.rails; -1: they are not told apart */
	double latency_s, gbps;
	double sent, again;	      /* packets, as struct slow_input has them */
	double unhindered, meanwhile; /* as struct slow_input has them */
};

struct story_rail { /* cards of one name, on each host */
	const char *name;
	double gbps;	     /* nominal, Gb/s; NAN: not known */
	const char *trouble; /* why it was not measured; NULL: it was */
	bool asked;	     /* by name */
	LIST(int) ranks;     /* of GPUs: those that it is measured between; else none */
};

struct story_at_once { /* --together */
	bool told;
	bool share_machine;
	duo_list pairs;		/* n 0: nothing was measured. Of those that slow each other most */
	struct grouping groups; /* n 0: not found out; within these they do not, and keep: */
	double share;
	int trials; /* of groups */
	double seconds;
};

/* --groups; n 0: there are none. */
struct story_groups {
	struct groups g;
	struct groups_book book;
	struct groups_tried *tried; /* by group, and what is wrong in it; -1: not known */
	int64_t *wrong;
};

struct story_opts {
	struct sweep_opts sweep;
	bool per_iter, timestamps, wire_rate, memory;
	bool keeps_rows;	      /* of -N 0, too: a file is made of them */
	const char *const *notes;     /* NULL-terminated lines for the head of the table */
	double least_average;	      /* GB/s: NCCL_TESTS_MIN_BW; 0: nobody asks */
	const struct traffic *replay; /* what is done again; NULL: --replay was not asked for */
	const char *groups;	      /* --groups; NULL: all ranks are one */
	struct again again;	      /* what is typed to go on with these ranks */
};

struct story {
	const struct story_opts *o;
	struct report *r;
	struct arena *a;
	uint64_t begun_ns;	 /* the clock when it was made: before any rank */
	bool begun;		 /* the ranks know each other */
	bool has_table;		 /* and a table has its head */
	struct sweep_opts sweep; /* as the ranks agreed on it: max may be lower */
	const char *backend, *transport, *device;
	int version;	      /* of NCCL: 22809; 0: of none, or it is not known */
	const char *launcher; /* a foreign one, and from which variables; NULL: ours */
	const char *launcher_from;
	LIST(struct bench_rank) ranks;
	struct hosts spread; /* of them */
	struct story_groups groups;
	str_list notes;
	uint64_t total; /* rows to come; 0: unknown */
	struct pace pace;
	struct burnin burnin;	     /* of --for; else it stays empty */
	struct replay_story replay;  /* likewise, of --replay */
	LIST(struct story_row) rows; /* of -N 0 the best of each case, unless all are asked for */
	struct sweep_totals totals;
	double *waited, waited_of_s; /* for each rank in rows that were not kept; NULL: none */
	struct coll_case wrong;	     /* the first that had wrong elements; coll NULL: none */
	bool timed_out;		     /* what takes longer was left out, */
	uint64_t fewer_from;	     /* and from this size on measured less often; 0: nothing was */
	LIST(int) units;	     /* of pairs: their ranks */
	LIST(struct story_rail) rails;
	LIST(struct story_pair) pairs;
	struct story_at_once at_once;
	struct resent resent;
	LIST(struct story_counters) counters;
	LIST(struct finding *) findings; /* for after the table */
	struct blame blame;		 /* and what comes of it: */
	int lost;			 /* the rank at fault, -1: none */
	const char *lost_message, *failure, *failure_fix;
	const char *between; /* what looks at the ways between its hosts, typed here; or NULL */
	const char *failed_check;     /* the error below is a finding of this id; NULL: it is not */
	struct err error;	      /* of a rank, about itself */
	struct {		      /* of those that told such a finding: */
		int ranks, first, of; /* how many; one of them; of how many that tell; 0: unknown */
		const char *host;
		bool is_hearsay; /* the error above is of a rank that heard it of another */
	} broke;
	str_list host_trouble, host_names, host_fixes; /* in step */
	const char *ended_by; /* before its time, from the verdict on; NULL: it ended well */
};

void story_init(struct story *s, const struct story_opts *o, struct report *r);
void story_event(const cJSON *event, void *story);
void story_spread(struct story *s);	     /* once its ranks are listed, which is on "world" */
double story_average(const struct story *s); /* GB/s, over all rows, as nccl-tests has it */
/* What is asked of it, a tenth less than NCCL_TESTS_MIN_BW, as there; 0: nothing. */
double story_least_average(const struct story *s);
bool story_average_is_enough(const struct story *s);
size_t story_hosts(const struct story *s);			    /* that its ranks are on */
bool story_are_together(const struct story *s, size_t a, size_t b); /* two ranks, on one host */

/* --- story_rows.c --- */
void story_row_event(struct story *s, const cJSON *event);
void story_note_wrong(struct story *s, const struct sweep_row *row); /* keeps the first */

/* --- story_at_once.c --- */
void story_at_once_event(struct story *s, const cJSON *event);

/* --- story_groups.c --- */
void story_groups_begin(struct story *s); /* once its ranks are listed */
void story_groups_event(struct story *s, const cJSON *event);
static inline int story_roots(const struct story *s) /* that a sweep of all roots has */
{
	return s->groups.g.n ? s->groups.g.least : (int)s->ranks.n;
}

#endif
