#ifndef LIB_CLUSTER_HOSTLIST_H
#define LIB_CLUSTER_HOSTLIST_H
/*
 * Lists of hosts as people write them: `a,b,c`, Slurm's `gpu-[01-03,07]`
 * (row-major, width kept, order and duplicates kept, as `scontrol show
 * hostnames`), and hostfiles in Open MPI's, MPICH's, pdsh's and Grid Engine's manner
 * (`node1 slots=8`, `node1:8`, one name a line, # comments, `node1 8 all.q@node1 UNDEFINED`). What
 * Slurm would turn into junk (`node[1-`, `n[1 - 2]`) is refused with the column, and so is every
 * character that no host name has: names end up in ssh's argv. Beyond Slurm: text after the last
 * bracket (`n[1-3]-ib`), and slots (`node1:8`). An IPv6 address is written bare (`fd00::1`,
 * `fd00::[1-4]`) or in brackets, behind which there may be slots (`[fd00::1]:8`); its name is the
 * bare one, which ssh takes.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

enum { HOSTLIST_MAX = 256 * 1024 };

struct host {
	const char *name; /* what ssh is given: [user@]name */
	unsigned slots;	  /* 0: not said */
};
typedef LIST(struct host) host_list;

int hostlist_parse(const char *expr, struct arena *a, host_list *ret, struct err *e) MUST_CHECK;
int hostfile_parse(const char *text, size_t n, const char *path, struct arena *a, host_list *ret,
		   struct err *e) MUST_CHECK;
/*
 * What --hosts was given: the word `lab` (WINDSOCK_HOSTS and WINDSOCK_RSH of
 * scripts/lab), a path to a hostfile (contains '/', is a file's here, or is called as
 * files are: `hosts.txt`), a pipe or `-`, stdin, else an expression. Of duplicates the first is
 * kept, whose slots add up, with a note in the log.
 */
int hosts_from_arg(const char *arg, struct arena *a, host_list *ret, struct err *e) MUST_CHECK;
/* Before it, where somebody else will read the same words: what comes through a pipe ("-": stdin)
 * comes once, and @arg is the list of its names then. */
int hosts_settle(const char **arg, struct arena *a, struct err *e) MUST_CHECK;
/* The hostfile in its folder of which @arg is a slip; NULL: there is none. */
const char *hostfile_near(const char *arg, struct arena *a);
/* 10.0.0.0/28 -> 10.0.0.[1-14]: how hosts in it are named, of a large one some; NULL: @arg is no
 * subnet. */
const char *hosts_of_subnet(const char *arg, struct arena *a);
/* n1-ib,n2-ib,n3-ib -> n[1-3]-ib, for messages and our own commands; the order is kept, slots are
 * not. */
char *hostlist_fold(struct arena *a, const host_list *hosts);
/* For Slurm's, which refuse text behind a bracket. */
char *hostlist_fold_slurm(struct arena *a, const host_list *hosts);
/* "node1" of "user@node1", inside @name. */
const char *host_bare(const char *name);
/* For what a colon follows: "user@[fd00::1]" of "user@fd00::1"; what has no colon is @name. */
const char *host_bracketed(struct arena *a, const char *name);
/* Can it be a node's name to Slurm? An address, a name with its domain or user@name is none. */
bool host_is_node(const char *name);
/* What a host calls itself, fit for messages and for commands that are pasted: characters that no
 * name may have here are '_'. */
const char *host_said(struct arena *a, const char *name);

#endif
