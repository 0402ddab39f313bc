#ifndef PROBES_LOG_LINE_H
#define PROBES_LOG_LINE_H
/*
 * One line of a log, made readable: colours and junk taken out, and what
 * launchers, libraries and system logs put before the message understood:
 *
 *	[rank3]: [default0]: 3: [1,3]<stderr>: node1: node-0  | (Worker pid=7, ip=10.0.0.2)
 *	[2025-10-15 13:20:53] Oct 15 13:20:53 node1 kernel: [123.456] E1015 13:20:53.1 file.cpp:6]
 *	node1:4711:4720 [2] NCCL WARN ...
 */
#include "lib/core/base.h"

enum { LINE_MAX_TEXT = 2048 };

/* What time means: only times of one kind can be compared. WORLD: its zone was said; DATE: it was
 * not; DAY: nor was the year. */
enum clock_kind {
	CLOCK_KIND_NONE,
	CLOCK_KIND_WORLD,
	CLOCK_KIND_DATE,
	CLOCK_KIND_DAY,
	CLOCK_KIND_UPTIME
};

/* Who says a rank, the surest last: srun -l labels a task, mpirun a process, and either may be a
 * node's launcher of several ranks. */
enum rank_by { RANK_BY_TASK, RANK_BY_MPI, RANK_BY_ITSELF };

struct log_who {
	int rank; /* -1: not said */
	enum rank_by rank_by;
	int local;     /* the local rank or device, -1: not said */
	long pid;      /* 0: not said */
	char host[64]; /* "": not said */
	/* torchrun's of starting the ranks, that one counted, where a path says it; 0: not said */
	unsigned attempts;
	bool by_path; /* one of these is of the file: of its path, or its host, not of the line */
};

/* May both be one host, as far as they are known? "gpu7" and "gpu7.cluster" may, "" and any; not
 * "gpu7" and "gpu70". */
bool log_hosts_fit(const char *a, const char *b);

struct log_line {
	char text[LINE_MAX_TEXT]; /* the whole line */
	const char *body;	  /* in it: what comes after time, rank, host */
	struct log_who who;
	enum clock_kind clock;
	int64_t time_ms;
};

/* Cuts what is longer; @n bytes without line end. Never fails. */
void line_parse(const char *raw, size_t n, struct log_line *ret);
/* The same in two steps, for who may not need the second: the text; then body, who and when. Done
 * already, it costs nothing. */
void line_clean(const char *raw, size_t n, struct log_line *ret);
void line_place(struct log_line *l);

/* The message stands in: the calls of a traceback, and the words of the program that had them. */
bool line_is_indented(const struct log_line *l);
/* Who it is from, its message heard too: that names its rank as "[Rank 3]", or as "(rank=3, size=8"
 * where no label names any. */
struct log_who line_speaker(const struct log_line *l);

#endif
