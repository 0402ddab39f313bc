#ifndef LIB_CLUSTER_FANOUT_H
#define LIB_CLUSTER_FANOUT_H
/*
 * One command on many hosts, a bounded number at a time, each with a
 * deadline, over ssh (BatchMode: never a password prompt), `--rsh CMD`, or
 * the lab; where no way is named, on the machine that we are at without one, as a login would:
 * in the home folder. Whom sshd turned away among so many is tried again a little later. Output is
 * collected with a bound. When we end, for whatever reason, the local ssh's end with us.
 */
#include "lib/cluster/hostlist.h"

struct fanout_result;
struct fanout_opts {
	const char *rsh;      /* "ssh -p 2222"; NULL: WINDSOCK_RSH, else ssh with our options */
	size_t parallel;      /* 0: 32 */
	uint64_t deadline_ns; /* per host: the longest silence; 0: 30 s */
	size_t max_output;    /* per host and stream, 0: 16 MiB */
	const char *program;  /* what argv runs, for sentences; NULL: argv[0] */
	bool errand;	      /* argv is `sh -c` and a person's line: errand.h */
	const char *answer;   /* every answer has this in it; NULL: whatever comes is one */
	/* called as each host finishes, with @arg; NULL: nobody wants to know */
	void (*done)(const struct fanout_result *r, size_t finished, size_t total, void *arg);
	void *arg;
};
struct fanout_result {
	const char *host;
	bool here;  /* it is the machine that we are at, and no way to it was named */
	bool alone; /* no other host was named: it may have been meant as a hostfile */
	bool started, timed_out, interrupted, truncated;
	bool endless;	 /* and was ended for it */
	bool asks;	 /* beside timed_out: it asks a person (way_asks()) */
	bool missing;	 /* its trouble: there is no such program */
	bool away;	 /* its trouble: the way to it failed, nothing was run there */
	bool begun;	 /* an errand: it was, there */
	bool ended;	 /* an errand, with its own exit code: that is no trouble of the way's */
	bool lingers;	 /* and something that it began goes on there */
	int exit_status; /* -1: killed by signal @signal */
	int signal;
	const char *out; /* stdout, NUL-terminated */
	size_t out_n;
	const char *err; /* the end of stderr */
	uint64_t took_ns;
	const char *trouble; /* a sentence when no answer came ("ssh: connection refused",
				"no such command there: ..."), with what to do; NULL when fine */
	const char *fix;     /* the command that mends it, typed here; NULL: none is known */
};

/*
 * Runs @argv (quoted for a remote shell by us) on every host. @o: NULL for what is usual.
 * Results in host order, texts in @a. After Ctrl-C it returns 0 all the same: what was finished is
 * there, the rest is marked interrupted. What is started is `RSH... HOST 'COMMAND'`, as for ssh.
 */
int fanout_run(const host_list *hosts, const char *const *argv, const struct fanout_opts *o,
	       struct arena *a, struct fanout_result **ret, struct err *e) MUST_CHECK;
#endif
