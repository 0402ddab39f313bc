#ifndef PROBES_STACKS_STAND_H
#define PROBES_STACKS_STAND_H
/*
 * Where a rank of a running job stands: what its main thread does, since when
 * it has done that, and what its program calls there. Found on this host, or
 * read of another host's JSON; the texts live in the arena it was made with.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/python/stack.h"

#include <cjson/cJSON.h>

enum stand_kind {
	STAND_UNREAD,	  /* we were not let in, or it is no Python */
	STAND_COLLECTIVE, /* in one: waits for the others */
	STAND_MEETING,	  /* where groups are made: likewise */
	STAND_BACKWARD,	  /* computes gradients, or waits for the others' */
	STAND_DEVICE,	  /* waits for its GPU, and so for what runs there */
	STAND_DATA,	  /* waits for, or makes, the next batch */
	STAND_SAVING,	  /* reads or writes a checkpoint */
	STAND_COMPILING,
	STAND_IMPORTING,
	STAND_DEBUGGER, /* at a breakpoint */
	STAND_LOCK,	/* waits until another process takes its lock file away */
	STAND_SERVICE,	/* asked another program over the network, and waits for its answer */
	STAND_IDLE,	/* an engine's worker that has nothing to do */
	STAND_ENDING,	/* its program is over */
	STAND_ELSEWHERE,
	STAND_KINDS
};
extern const char *const stand_words[STAND_KINDS]; /* "collective": in JSON, too */

/* A process that works for a rank: of a DataLoader, mostly. */
struct stand_worker {
	pid_t pid;
	char state;
	const char *wchan;   /* in the kernel; "" unknown */
	struct py_frame own; /* function NULL: unknown */
};

struct stand {
	const char *host;	    /* as the hosts are named; NULL: this one */
	const char *job;	    /* tells one job's from another's */
	int rank, size, local_size; /* -1 unknown */
	int present;		    /* of its job on its host, also those that were not looked at */
	bool is_guessed; /* its rank: children of one process, in the order of their numbers */
	pid_t pid;
	char state;	    /* of its main thread: R S D T t Z */
	const char *wchan;  /* "" unknown */
	double busy;	    /* its main thread, of one processor, while it was looked at */
	double busy_below;  /* ... and the processes that it started, together */
	bool moved;	    /* ... and its main thread came to another place, or went on working */
	double seconds;	    /* for which it was looked at */
	const char *unread; /* why it was not, with what lets us (may be NULL) */
	const char *unread_fix;
	unsigned python;	 /* 0x030b; 0 unknown */
	struct py_frame *frames; /* of its main thread, the innermost first */
	size_t n, threads;
	/* what follows from these: stand_classify() */
	enum stand_kind kind;
	const char *what;  /* "all_reduce"; NULL: the kind says it */
	size_t own;	   /* the innermost frame that is the program's own; n: none */
	const char *line;  /* what its source has there, or NULL */
	const char *inner; /* ... and where Python ends, in the innermost frame */
	struct stand_worker *workers;
	size_t n_workers;
};
typedef LIST(struct stand) stand_list;

/* Fills in kind, what and own. */
void stand_classify(struct stand *s);
/* Is the file of what came with Python, or was installed? */
bool stand_is_library(const char *file);
/* Does it wait for work, or for an engine's first rank to hand on what that got? */
bool stand_may_be_idle(const struct stand *s);
/* Does its main thread compute? */
bool stand_works(const struct stand *s);
/* ... or do the processes that it started? */
bool stand_below_works(const struct stand *s);
/* Does it wait for other ranks? */
bool stand_waits(const struct stand *s);
/* Do both stand at the same place of the program, in the same? */
bool stand_same(const struct stand *p, const struct stand *q);

cJSON *stand_json(const struct stand *s);
/* False: @o is none. */
bool stand_from_json(const cJSON *o, const char *host, struct arena *a, struct stand *ret);

#endif
