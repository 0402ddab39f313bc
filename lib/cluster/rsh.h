#ifndef LIB_CLUSTER_RSH_H
#define LIB_CLUSTER_RSH_H
/* The remote shell: --rsh, else WINDSOCK_RSH, else ssh with options of ours. */
#include "lib/core/arena.h"
#include "lib/core/err.h"

/* What is run here. */
struct rsh_way {
	const char *name;  /* its first word */
	const char *typed; /* what a person types for it before the host's name: rsh_shown() */
	bool here;	   /* no way: it is run by a shell here */
};

/* Was another way than our ssh named, by --rsh (@given) or WINDSOCK_RSH? */
bool rsh_is_named(const char *given);

/* Does it say by its exit code 255 that it failed itself, and by another one how what it ran there
 * has ended? So does a shell here, which cannot fail. */
bool rsh_is_exact(const struct rsh_way *w);
/* By its program's name: its exit code is 255, or that of what it ran there. */
bool rsh_is_ssh(const char *program);

/* Its words, added to @ret, with our options where it is ssh. @given: of --rsh, or NULL;
 * @deadline_ns: ssh is told to give up before it. */
int rsh_words(const char *given, uint64_t deadline_ns, struct arena *a, str_list *ret,
	      struct rsh_way *ret_way, struct err *e) MUST_CHECK;

/* What is typed for it in a finding: @given, else what somebody above us was given, else
 * WINDSOCK_RSH, else ssh. */
#define RSH_TYPED "WINDSOCK_RSH_TYPED"
const char *rsh_typed(struct arena *a, const char *given);
/* @rsh for people to see, in a report that others read: a password of sshpass is none of theirs. */
const char *rsh_shown(struct arena *a, const char *rsh);

#endif
