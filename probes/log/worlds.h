#ifndef PROBES_LOG_WORLDS_H
#define PROBES_LOG_WORLDS_H
/*
 * A benchmark that mpirun started N times, each alone: N worlds of one. They
 * begin together, or one command for N processes gives N results, or several
 * print their header before any of them says a rank. Several runs in one log
 * begin one after the other.
 */
#include "lib/core/base.h"

struct why;
struct why_stream;
struct log_line;

struct worlds {
	unsigned open, together; /* begun since the last end; the most at one time */
	unsigned commands, results;
	long asked; /* processes of the command */
	/* headers since a rank, a result or a failure, and where the latest of them is */
	unsigned headers, most_headers, header_file;
	uint64_t header_line;
};

/*
 * torchrun, as it greets, and as it finds the port of its store taken. Where several greet before
 * one of them does, they were started together.
 */
struct launches {
	unsigned open, together; /* greetings in a row, before the latest refusal; the most */
	bool was_refused;	 /* the latest was a refusal */
};

void launches_begun(struct launches *s);
void launches_refused(struct launches *s);

/* Take a line; those that say nothing of it are left out. */
void worlds_command(struct worlds *s, const char *text);
void worlds_begun(struct worlds *s, const char *text);
void worlds_header(struct worlds *s, unsigned file, uint64_t line);
/* A run gave no result; the next header is another run's. */
void worlds_failed(struct why *w, struct why_stream *s, const struct log_line *l);
void worlds_ended(struct why *w, struct why_stream *s, const struct log_line *l);

/* Is each alone? UNSURE: one after the other, and no command tells why. */
enum worlds_are { WORLDS_ONE, WORLDS_UNSURE, WORLDS_MANY };
enum worlds_are worlds_judge(const struct worlds *s);

#endif
