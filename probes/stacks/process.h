#ifndef PROBES_STACKS_PROCESS_H
#define PROBES_STACKS_PROCESS_H
/* The processes of this host, as /proc has them at one moment. */
#include "lib/core/arena.h"

#include <sys/types.h>

struct process {
	pid_t pid, parent;
	char state;
	uint64_t ticks;	 /* of processor time */
	uint64_t waited; /* ... of its children that it saw end, and of theirs */
};
struct processes {
	struct process *v; /* by pid */
	size_t n;
};

void processes_read(struct arena *a, struct processes *ret);
/* @path: "/proc/4711/stat", or a thread's. False: it is gone. */
bool process_stat(const char *path, struct process *ret);
const struct process *process_find(const struct processes *all, pid_t pid);
bool process_is_python(pid_t pid);
bool process_has_torch(pid_t pid);
/* Are these words in a file of it in /proc: "cmdline", "maps"? */
bool process_holds(pid_t pid, const char *file, const char *words);
/* Is @pid @top, or did that start it, or one that it started? */
bool process_is_below(const struct processes *all, pid_t pid, pid_t top);
/* Processor time of all that @top started, and that these started, also of those that have ended.
 */
uint64_t processes_below_ticks(const struct processes *all, pid_t top);

#endif
