#ifndef BENCH_SWEEP_ASKED_H
#define BENCH_SWEEP_ASKED_H
/*
 * What a person asks of ncclbench: one struct, the table of options that fills it, and the
 * way from there to a job. What means the same as it is typed is written into the job at
 * once; the rest is words, which ask.h understands one by one.
 *
 *	.rows = asked_rows, .nrows = ASKED_NROWS, .cfg = &asked		in the struct app_spec
 *
 *	asked = asked_defaults;		before the options are parsed
 *	asked_alone(&asked, ...)	with --analyze, and nothing else then
 *	asked_check(&asked, &usual, a, e)	before anybody looks for ranks
 *	asked_job(&asked, &role, a, e)	once it is known which of them this process is
 *
 * Where the ranks are is another table's (bench/ranks/where.h).
 */
#include "bench/sweep/ask.h"
#include "lib/core/opt.h"

struct asked {
	const char *coll, *op, *type, *root;
	struct ask_sizes sizes;
	struct ask_flags flags; /* the backend is one of them */
	uint64_t threads, gpus; /* ranks are multiplied by both */
	uint64_t average, blocking, cpu_time, per_iter, timestamps, memory;
	uint64_t timeout_s; /* 0: not given */
	uint64_t cycles;    /* ASK_NOT_GIVEN */
	uint64_t budget_ns; /* of the whole command, which sets it; 0: none */
	bool find_slow;
	double warn, fail; /* per cent; ASK_NO_SHARE */
	const char *expect, *baseline, *plot, *page;
	str_list plot_with;
	/* --analyze: measure nothing; and what its files cannot know */
	str_list analyze;
	const char *instance;
	const char *nic;
	/* --replay: a recording, and the environment that tells its ranks of it (NULL-ended) */
	str_list replay;
	const char *const *replay_env;
	const char *groups;	  /* --groups, or what nccl-tests' variables say; NULL: neither */
	const char *groups_given; /* to the ranks that are started, since they have it not; NULL */
	struct job_opts job;	  /* without where, and without the lines for its head */
};

enum { ASKED_NROWS = 65 };
extern const struct opt asked_rows[ASKED_NROWS];
extern const struct asked asked_defaults;
/* Of these, NULL-ended: which collective; and which rows a table has, and which columns. What makes
 * no such table refuses them. */
extern const char *const asked_of_coll[], *const asked_of_table[];

/* --- ask_for.c --- */
/* What --for and --within go with, and what not. */
int ask_for(const struct asked *q, struct err *e) MUST_CHECK;
/* What it goes through where no size was named. */
void ask_for_sizes(const struct ask_sizes *in, struct sweep_opts *ret);

/* --- ask_groups.c --- */
/* --groups and nccl-tests' variables, and what they go with; NULL in q->groups: all are one. */
int ask_groups(struct asked *q, const struct asked *usual, struct arena *a,
	       struct err *e) MUST_CHECK;
/* Of @ranks (0: not known yet). */
int ask_groups_of(const struct sweep_opts *s, const char *text, uint64_t ranks, struct arena *a,
		  struct err *e) MUST_CHECK;

/* --analyze measures nothing: nothing else is to be measured, @usual having been asked by the
 * program's name, nor between ranks of @w. */
int asked_alone(const struct asked *q, const struct asked *usual, const struct where *w,
		struct arena *a, struct err *e) MUST_CHECK;
/* Is there a backend that has all of it? What tcp alone has makes "auto" mean that. */
int asked_check(struct asked *q, const struct asked *usual, struct arena *a,
		struct err *e) MUST_CHECK;
/* The words become what is measured, shown and judged. The baseline is read, of a run of which
 * this process is not one rank of ours: another one judges then. */
int asked_job(struct asked *q, const struct where_role *role, struct arena *a,
	      struct err *e) MUST_CHECK;

#endif
