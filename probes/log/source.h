#ifndef PROBES_LOG_SOURCE_H
#define PROBES_LOG_SOURCE_H
/*
 * Where the lines come from: a file or a pipe to its end, a file that grows,
 * a command that is run. Each returns 0, or -1 with @e filled; a signal ends
 * them early with 0 (ask interrupt_pending()).
 */
#include "lib/core/err.h"
#include "probes/log/why.h"
#include "probes/stacks/meanwhile.h"

#include <sys/types.h>

struct source {
	const char *path; /* "-": stdin */
	const char *name; /* what people call it; NULL: by its path */
	const char *host; /* that has it; NULL: not said */
	bool is_brought;  /* by us, and no larger than we let it: a signal ends no reading of it */
};

/* A ".gz" and the like is refused with the command that reads it. */
int source_read(struct why *w, const char *path, struct err *e) MUST_CHECK;
int source_read_from(struct why *w, const struct source *from, struct err *e) MUST_CHECK;

/* Is it for programs, and neither packed, which is said, nor a dump? */
bool source_is_data(const char *path);
/* What to do where it could not be opened, by errno. -1. */
int source_refused(const char *path, struct err *e);

/* A command that is run: while it is looked at its words are passed on, and whoever speaks or ends
 * is silent no more. */
struct source_command {
	pid_t pid;
	struct meanwhile meanwhile;
};

/* What a source that goes on reports while it does. */
struct source_watch {
	uint64_t stall_ns; /* 0: never */
	/* @stalls: 0: it pauses; 1: it has said nothing for that long; 2: for twice, 3: for four
	 * times as long, ... @of: NULL: no command is run */
	void (*quiet)(struct why *w, unsigned stalls, const struct source_command *of, void *arg);
	void *arg;
};

/* Waits for a file that is not there yet, and says so; goes on when it is cut or replaced. Ends
 * with a signal only. */
int source_follow(struct why *w, const char *path, const struct source_watch *watch,
		  struct err *e) MUST_CHECK;
/*
 * Runs argv with our stdin; what it says goes to @out and @err_fd unchanged and
 * as fast as who reads that takes it. @ret_code: as a shell says it (128 + signal), 126 and 127
 * where it could not be started (-1); known also where it was not all written (-1: a full disk).
 */
int source_run(struct why *w, char *const *argv, int out, int err_fd,
	       const struct source_watch *watch, int *ret_code, struct err *e) MUST_CHECK;

#endif
