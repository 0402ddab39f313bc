#ifndef BENCH_SWEEP_AGAIN_H
#define BENCH_SWEEP_AGAIN_H
/*
 * The lines to go on with after a run: between the same ranks, over the same way and the same
 * library, or they would be about something else; and what passes there would be no answer.
 *
 *	ncclbench --rsh 'ssh -i key.pem' --hosts a,b --backend mpi --find-slow
 *
 * Of ranks that somebody else has started (srun, torchrun, --init) there is no such line: what is
 * to be added to theirs is said in words.
 */
#include "lib/report/report.h"

struct asked;
struct where;
struct where_role;
struct coll_case;

struct again {
	const char *start; /* "ncclbench --hosts a,b --backend mpi"; NULL: it is not ours to say */
	const char *asked; /* " --coll broadcast --expect 10": of the table, but sizes and files */
	const char *exact; /* the same without type, reduction and root; each NULL: "" */
	bool bare;	   /* nothing was said of where ranks are, or how many */
};

/* Before @q is understood, which fills in what was not asked for. */
void again_words(const struct asked *q, struct arena *a, struct again *ret);
/* Once it is known where the ranks are; after again_words(). */
void again_where(const struct where *w, const struct where_role *role, struct arena *a,
		 struct again *ret);

/* Adds the line with these options ("--find-slow") and a remark, or NULL. */
void again_fix(struct finding *f, const struct again *g, const char *options, const char *remark);
/* The table again, with other sizes. */
void again_sizes(struct finding *f, const struct again *g, const char *sizes, const char *remark);
/* One case of it, verified ten times. */
void again_case(struct finding *f, const struct again *g, const struct coll_case *c,
		const char *remark);

#endif
