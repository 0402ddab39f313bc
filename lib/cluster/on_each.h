#ifndef LIB_CLUSTER_ON_EACH_H
#define LIB_CLUSTER_ON_EACH_H
/*
 * One line to be typed here that does on each of many hosts what would have to be typed there:
 *
 *	for h in node{1..1000}; do ssh $h 'sudo sysctl -w net.core.somaxconn=65535'; done
 *
 * It goes to them the way that the run itself went. It is made for bash and zsh, and only of names
 * that a shell takes as they are: hosts are asked for theirs, and may say anything.
 */
#include "lib/cluster/hostlist.h"

struct host_way {
	const char *rsh; /* --rsh; NULL or "": ssh */
	bool srun;	 /* these are nodes of an allocation of Slurm's that we are in */
	bool none;	 /* they came by themselves: there is no way to them */
};
/* NULL: there is no such line; then it is to be said where @command is to be typed. */
const char *on_each(struct arena *a, const struct host_way *w, const host_list *hosts,
		    const char *command);

#endif
