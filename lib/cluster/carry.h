#ifndef LIB_CLUSTER_CARRY_H
#define LIB_CLUSTER_CARRY_H
/*
 * --copy-self for a command that goes to the same hosts several times, itself
 * and by its children: a host that has not the same program gets our folder
 * once, and has it until carry_done() or until we have ended, however we end.
 *
 * A process of its own holds an agent without ranks on each host (launch.h).
 * Whatever ends that process ends them, and each takes away what it was brought
 * (with keep: leaves it in ~/.cache/windsock). Who starts a program of ours on a
 * host, our children too, looks for it there first: carry_look().
 */
#include "lib/cluster/hostlist.h"
#include "lib/core/text.h"

struct carry_opts {
	const host_list *hosts;
	const char *rsh;	     /* as in launch.h */
	const char *const *programs; /* beside our own, NULL-ended; those that are here */
	bool keep;
	uint64_t deadline_ns; /* to reach a host: the longest silence; 0: 30 s */
};
struct carry_host {
	const char *trouble; /* why it could not be brought there; NULL: the program is there */
	const char *fix;     /* the command that mends it, or NULL */
};
struct carry { /* zeroed: nothing was carried */
	struct carry_host *hosts;
	size_t n;
	/* private */
	pid_t pid;
	int fd;
	bool lost;
	struct text said; /* since, and not read yet */
};

/* Waits until every host has it or is in trouble. 0 also after Ctrl-C: then it is not known of
 * some. -1: this machine could not do it. */
int carry_begin(const struct carry_opts *o, struct arena *a, struct carry *ret,
		struct err *e) MUST_CHECK;
/* Is it gone from a host since then? The way there broke, or who held it was ended. */
bool carry_lost(struct carry *c);
/* Then: of each host that the way to broke, why, as its trouble. One where the copy alone was ended
 * has none. How many there are. */
size_t carry_cut_off(struct carry *c, struct arena *a);
void carry_done(struct carry *c);

/* What is typed where a host lacks us: @line ("ifprobe --check"), and what lets it work there. */
const char *carry_advice(struct arena *a, const char *line, const char *rsh, const char *hosts);

/*
 * For sh, to stand before what else starts @name on a host (a word of sh, as @args are):
 * becomes the one that this run carried there; "" where none was, and elsewhere it does nothing.
 */
const char *carry_look(struct arena *a, const char *name, const char *args);
/* For sh: what `answers` is there (lib/cluster/sh/answers.sh). */
const char *carry_answers(struct arena *a);

#endif
