#ifndef BENCH_RANKS_WHERE_H
#define BENCH_RANKS_WHERE_H
/*
 * Where the ranks of a run are, as its options say it, and what this process is in it: the
 * one that starts the ranks, or a rank that somebody started. One table of options, and one
 * of what goes with what, for every command whose ranks may be anywhere:
 *
 *	.shared = {where_rows, WHERE_NROWS, &config.where}	in its struct app_spec
 *
 *	where_role(&c->where, a, &role, e)	before anything is written
 *	where_deadline(&c->where, &role, ...)	likewise
 *	where_fits(&c->where, &role, links, e)	before ranks are started
 *	where_launch(&c->where, &opts)		to start them, unless role.is_rank
 *	where_world(&c->where)			to be one of them
 *
 * What can be known beforehand is said beforehand: options that contradict each other, or
 * that nobody would heed, are an ERR_USAGE.
 */
#include "lib/cluster/launch.h"
#include "lib/core/opt.h"
#include "lib/net/token.h"

#define WHERE_NOT_GIVEN UINT64_MAX

struct where {
	const char *hosts, *rsh, *init;
	uint64_t np, np_per_host, wait, port, rank, size, heartbeat_ns, serve_ns, parallel;
	uint64_t deadline_ns; /* of one step; 0: none was said, and each phase has its own */
	bool deadline_given;  /* it was said: see where_deadline() */
	bool srun, copy_self, keep, partial, serve, no_local, require_token;
	/* set by the command, not by an option */
	uint64_t each; /* ranks that one of np and np_per_host stands for; 0: one. Of a rank that
			* was started already nobody heeds it: the command refuses it */
	uint64_t bare; /* ranks where nothing is said; 0: two */
	/* set by where_role() */
	host_list found; /* by @hosts or the allocation: a pipe comes once, and so do its notes */
};

/* The rows of an option table whose struct is a struct where. */
enum { WHERE_NROWS = 21 };
extern const struct opt where_rows[WHERE_NROWS];
/* Of a command's man page. */
#define WHERE_ENVIRONMENT                                                                          \
	"WINDSOCK_TOKEN Under another launcher: the code that ranks show each other, the same "    \
	"for all of them, which " TOKEN_RECIPE " makes. --require-token lets nobody in without "   \
	"it.\n"
#define WHERE_DEFAULTS                                                                             \
	{                                                                                          \
		.rank = WHERE_NOT_GIVEN, .size = WHERE_NOT_GIVEN                                   \
	}

struct where_role {
	bool is_rank;  /* else it starts the ranks */
	bool ours;     /* by our own launcher, which reads our report ... */
	bool relayed;  /* ... or by an mpirun that it has started */
	int rank;      /* -1: not known yet */
	uint64_t size; /* of the world; 0: not known yet */
	uint64_t here; /* of its ranks on this machine; 0: not known yet */
};

/* A rank that a command of ours has started: who reports is another process. */
bool where_is_ours(void);
/* Nothing says where ranks are, or how many: they are here, as many as this machine can use. */
bool where_is_bare(const struct where *w);
/* All ranks are going to be on this machine. */
bool where_is_here(const struct where *w);
/* Looks and joins nothing yet. */
int where_role(struct where *w, struct arena *a, struct where_role *ret, struct err *e) MUST_CHECK;
/* Who started ranks judges and writes, else the first of them: what that takes another may lack. */
bool where_reports(const struct where_role *role);
/*
 * The deadline of a step: the one that was said, else *ret_deadline_ns, which grows (as do
 * those of coming together) where many ranks share a processor. Then a text says so, in @a.
 */
const char *where_deadline(struct where *w, const struct where_role *role, struct arena *a,
			   uint64_t *ret_deadline_ns);
/*
 * Before ranks are started on this machine, with so many TCP @links of ours between any two:
 * ERR_SYS says what they would run out of.
 */
int where_fits(const struct where *w, const struct where_role *role, unsigned links,
	       struct err *e) MUST_CHECK;
/* Everything but the device. */
struct world_opts where_world(const struct where *w);
/* Everything but argv and the descriptors. */
void where_launch(const struct where *w, struct launch_opts *ret);
/*
 * As it is typed once more, which where_is_typed() says whether it can be: @command ("ncclbench")
 * with the options that lead to the same ranks. And with those that lead to these hosts alone, of
 * which nothing is said of how many ranks they have.
 */
bool where_is_typed(const struct where *w);
const char *where_typed(const struct where *w, const char *command, struct arena *a);
const char *where_typed_at(const struct where *w, const char *command, const char *hosts,
			   struct arena *a);
/*
 * This command failed, with @e, before it was a rank of anything: where @argv (as main got it)
 * and the environment make it one of several, the others are told. As world_decline() has it.
 */
void where_decline(char *const *argv, const struct err *e);

#endif
