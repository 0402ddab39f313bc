#ifndef LIB_CLUSTER_ON_EACH_H
#define LIB_CLUSTER_ON_EACH_H
/*
 * One line to be typed here that does on each of many hosts what would have to be typed there:
 *
 *	windsock on 'node[1-1000]' 'sudo sysctl -w net.core.somaxconn=65535'
 *
 * It goes to them the way that the run itself went, to many at a time, waits for none of them for
 * ever, and names those on which it failed; so does srun, which is for nodes of an allocation.
 * It is made only of names that every host list takes as they are: hosts are asked for theirs, and
 * may say anything.
 */
#include "lib/cluster/hostlist.h"

struct host_way {
	const char *rsh; /* --rsh; NULL or "": ssh */
	bool srun;	 /* these are nodes of an allocation of Slurm's that we are in */
	bool none;	 /* they came by themselves: there is no way to them */
	/* What names all of them in few words, a hostfile, and how many these are; NULL: nothing */
	const char *given;
	size_t n;
};
/* NULL: there is no such line, or none that could be typed; then it is to be said where @command
 * is to be typed. @hosts are different ones. */
const char *on_each(struct arena *a, const struct host_way *w, const host_list *hosts,
		    const char *command);

#endif
