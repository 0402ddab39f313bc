#ifndef LIB_CLUSTER_LAUNCH_H
#define LIB_CLUSTER_LAUNCH_H
/*
 * How the ranks of a command come to be. A command's main asks three things:
 *
 *	launch_intercept()  am I the hidden helper on a host? then that was all
 *	world_start()       am I a rank? then here is my joined rendezvous
 *	launch_run()        neither: start the ranks, forward what they say, sum up
 *
 * One agent per host (our own program with --agent, over ssh, srun, or a fork
 * here; or a machine that joined with the pasted code) starts that host's
 * ranks, reports exactly how they ended, and carries their connections to the
 * rendezvous server in this process. So the nodes need no way back to us (a
 * laptop may launch through its ssh), and a run can be told what is wrong with
 * a network on which no port is open. Orders go over the agent's stdin or its
 * sealed channel: nothing secret is on a command line. Whatever ends us, kill
 * -9 included, ends every agent, and what an agent started ends with it; an
 * agent that hears nothing for AGENT_SILENCE_S ends too.
 *
 * At most `parallel` agents are being started at a time. A started one keeps
 * its ssh: four descriptors and about 3 MB here for each host of a run.
 */
#include "lib/cluster/hostlist.h"
#include "lib/cluster/rendezvous.h"
#include "lib/net/addr.h"

enum { LAUNCH_PORT = 29499, AGENT_SILENCE_S = 30 };

struct launch_result;
struct launch_opts {
	/* where: this machine, hosts, an allocation of Slurm's, or who joins */
	const host_list *hosts; /* NULL or empty: this machine alone */
	const char *rsh;	/* "ssh -p 2222"; NULL: WINDSOCK_RSH, else ssh with our options */
	bool srun;		/* the hosts' agents are started with srun */
	bool serve;		/* others join: people are told the line to paste */
	uint16_t serve_port;	/* 0: LAUNCH_PORT, or where that is taken any free one */
	unsigned wait;		/* serve: how many hosts join, ourselves not counted; 0: 1 */
	bool no_local;		/* serve: this machine has no rank */
	unsigned np;		/* ranks in all; 0: as many as np_per_host and slots make */
	unsigned np_per_host;	/* 0: the host's slots, else 1 */
	size_t parallel;	/* 0: 32 */
	bool partial;		/* hosts that cannot be reached are left out, not the end */
	bool copy_self; /* a host that has not the same program gets ours, removed afterwards */
	bool keep;	/* it stays there, in ~/.cache/windsock, for the next time */

	/* what: a program beside this one (usually this one) and its arguments, NULL-ended */
	const char *const *argv;
	const char *const *env; /* "NAME=VALUE" for every rank, NULL-ended; may be NULL */

	uint64_t deadline_ns;	 /* to reach a host, for all ranks to join; 0: 30 s */
	bool deadline_given;	 /* as in struct rdzv_server_opts */
	uint64_t serve_ns;	 /* for people to paste the line; 0: 10 min */
	uint64_t heartbeat_ns;	 /* 0: 10 s */
	int out_fd, err_fd;	 /* where what the ranks say goes, "[2 node1] " before each line */
	bool raw;		 /* rank 0's stdout byte by byte */
	void (*tick)(void *arg); /* once a second while ranks run; NULL: nobody looks */
	void *tick_arg;
	/* Where not the ranks judge but we: once all have ended, and nothing of theirs is written
	 * any more, what the run came to, an exit code, which those who joined are told in place
	 * of the ranks'. NULL: what the ranks say decides. */
	int (*judge)(const struct launch_result *got, void *arg);
	void *judge_arg;
};

struct launch_host {
	const char *name;     /* as given; of a joined one its address */
	const char *hostname; /* as it calls itself; NULL: unknown */
	const char *addr;     /* where its ranks can be reached by others; NULL: unknown */
	int first, ranks;     /* its ranks: first .. first + ranks - 1 */
	const char *trouble;  /* why it takes no part, with what to do; NULL: it does */
	const char *fix;      /* the command that mends it, typed there; NULL: in its trouble */
	const char *way_fix;  /* the same for the way to it, typed here; NULL: none is known */
	bool way_broken;      /* srun itself refused, which says nothing of the host */
	bool local;	      /* this machine: there is no way to it that could be broken */
};
/* What is to be typed where such a one is in trouble. */
#define LAUNCH_LOOK_HERE                                                                           \
	"uptime; free -m; ps -eo stat,pid,wchan:20,args | grep '^[DT]'  # here: what is short, "   \
	"who hangs?"
/* The command that mends a host in trouble; NULL: none is known, so the way to it is to be tried.
 */
const char *launch_fix(const struct launch_host *h, struct arena *a);
/* portcheck, between the hosts of a run: on the way that it went itself. NULL: there is none. */
const char *launch_between(const struct launch_opts *o, struct arena *a);
struct launch_rank {
	const struct launch_host *host;
	bool ended;
	int status, signal; /* exit code, or -1 and the signal (0: its host was lost) */
	const char *cause;  /* "killed by signal 9 (SIGKILL)", "exit code 1"; NULL: exit code 0 */
};
struct launch_result {
	int code;	     /* of all ranks: 1 beats 4 beats 3 beats 0; a lost rank is a 1. Once
				launch_run() is back: what @judge made of that, where there is one */
	const char *failure; /* what everybody was told, or why nothing began; NULL: healthy */
	const char *fix;     /* of a failure that we know more of: some did not join; or NULL */
	union addr door;     /* serve: where others were told to join; no family: they were not */
	size_t nhosts, nranks;
	struct launch_host *hosts;
	struct launch_rank *ranks;	    /* nranks 0: nothing was started */
	const struct launch_rank *unjoined; /* the failure is that it ended before it joined */
};

/*
 * Returns when all ranks have ended and nothing is left of them, texts in @a.
 * 0 also for a sick run and after Ctrl-C (then ranks had four seconds to print
 * what they had). -1: this machine could not do it, or the options cannot be.
 */
int launch_run(const struct launch_opts *o, struct arena *a, struct launch_result *ret,
	       struct err *e) MUST_CHECK;
/*
 * A run that never began because a rank could not do its work there, or has not what was asked
 * for, and said so by its exit code, 3 or 4: that says nothing about the cluster. True with @e
 * filled, of that code; a host that could not be reached, or start its ranks, is none of these.
 */
bool launch_unable(const struct launch_result *l, struct err *e);
/* One code for two: 1, 4, 3, 0. What is none of our codes is a 3. */
int launch_merge_codes(int a, int b);
/*
 * How many ranks each host gets, in order: np by slots (a host without has 1,
 * or where no host has any: evenly), else np_per_host, else slots. -1: np does not fit.
 */
int launch_place(const host_list *hosts, unsigned np, unsigned np_per_host, unsigned *ret_counts,
		 struct err *e) MUST_CHECK;

/*
 * First thing in main(). True when argv says `--agent`, or `--join HOST:PORT
 * [CODE]` (the code is wiped from argv at once; without one it is read from
 * stdin): that job is done then, and @ret_code is main's; @e is filled unless
 * its kind is ERR_NONE.
 */
bool launch_intercept(int argc, char **argv, int *ret_code, struct err *e);
/* Is @text a code where something else was meant? It must not be printed or looked up. */
bool join_is_code(const char *text);

struct world_opts {
	const char *init; /* --init; NULL */
	int rank, size;	  /* --rank, --world-size; -1: not given */
	bool launching;	  /* --np, --hosts or --serve: a foreign launcher's job is not meant */
	bool require_token;
	const char *device;		    /* told to the others; NULL: "" */
	uint64_t deadline_ns, heartbeat_ns; /* 0: 30 s and 10 s */
	bool deadline_given;		    /* as in struct rdzv_server_opts */
};
struct world_run {
	struct world world;
	struct rdzv *rdzv;    /* NULL: we are no rank; launch */
	bool missing;	      /* world_start() failed: others did not come, not we */
	const char *notes[4]; /* to be said, NULL-ended; most of them by rank 0 only */
	/* private */
	struct rdzv_host server; /* rank 0's, under a foreign launcher */
	const char *file;	 /* --init file://: what rank 0 removes */
	int lock;
};

/*
 * Decides from the environment and options, and joins: as a rank of our own
 * agent, of a foreign launcher (rank 0 then keeps the server in a child, on the
 * master's port or the one beside it; WINDSOCK_PORT overrides), or of --init.
 */
int world_start(const struct world_opts *o, struct arena *a, struct world_run *ret,
		struct err *e) MUST_CHECK;
void world_stop(struct world_run *r, const char *reason); /* reason as for rdzv_leave() */
/*
 * This process fails before it joined: if it is one of several ranks that another launcher
 * (or a person) started, the others are told @why instead of waiting for it. Takes seconds
 * at most: rank 0, whom they look for, waits a moment for them to come and hear it. Does
 * nothing where there is no such world, or where world_start() was here already.
 */
void world_decline(const struct world_opts *o, const char *why);

#endif
