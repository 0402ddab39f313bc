#ifndef PROBES_LOG_EXITS_H
#define PROBES_LOG_EXITS_H
/*
 * How torchrun saw its ranks end: "failed (exitcode: -9) local_rank: 1 (pid: 26)",
 * once per attempt and host; and whom it ended itself, by force.
 */
#include "lib/core/arena.h"
#include "probes/log/line.h"

enum { EXITS_MAX = 64, FORCED_MAX = 1 << 18 /* more than any job has processes */ };

struct exit_said {
	uint64_t line, order;
	unsigned file;
	struct log_who who; /* of the agent; its local rank is the one that ended */
	long agent, pid;    /* 0: not said */
	int code;	    /* negative: a signal */
	enum clock_kind clock;
	int64_t time_ms;
	char text[160]; /* from "failed" on */
};

struct exit_forced {
	long pid;
	unsigned file;
	const char *host; /* of who ended it */
};

struct exits {
	unsigned n;
	struct exit_said v[EXITS_MAX];
	LIST(struct exit_forced) forced;
	bool is_restarted;	  /* torchrun said so; it does where it is talkative */
	struct exit_said restart; /* that line, the first of them */
	bool is_only_one;	  /* "<NO_OTHER_FAILURES>": of those on that host */
};

void exits_hear(struct exits *t, unsigned file, uint64_t line, uint64_t order,
		const struct log_line *l);
/* "1/3 attempts left; will restart worker group" */
void exits_restart(struct exits *t, unsigned file, uint64_t line, uint64_t order,
		   const struct log_line *l);
/* "Unable to shutdown process 26 via 15, forcefully exiting via 9" */
void exits_force(struct exits *t, struct arena *a, unsigned file, const struct log_line *l);
/* On that host, as far as both are known: containers have the same pids. */
bool exits_was_forced(const struct exits *t, long pid, unsigned file, const char *host);

#endif
