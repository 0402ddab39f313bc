#ifndef PROBES_LOG_LIVE_JUDGE_H
#define PROBES_LOG_LIVE_JUDGE_H
/* Between live_judge.c and those who understand NCCL's answers: live_comms.c JSON, live_text.c the
 * text of versions without it. */
#include "lib/report/report.h"

struct live {
	struct report *r;
	const char *where; /* that was asked, as it was typed */
};

enum live_cause { LIVE_GONE, LIVE_BEHIND, LIVE_ERROR };

/* A failure, and the same as data.causes[]. @host: of the rank; NULL: not known. */
void live_fail(const struct live *l, enum live_cause cause, const char *subject, const char *host,
	       const char *fmt, ...) PRINTF(5, 6);
/* What is no failure; it may be other in a minute. */
void live_warn(const struct live *l, const char *subject, const char *fmt, ...) PRINTF(3, 4);
/* @n: of the service's own, while it gathered what it says. */
void live_timeouts(const struct live *l, int n);
void live_nothing(const struct live *l);

/* The communicators of the last answer; @before: of the one before it, NULL: there is none. */
void live_comms(const struct live *l, const cJSON *now, const cJSON *before);
/* Is the last part of an answer there? */
bool live_text_is_whole(const char *s);
void live_text(const struct live *l, const char *now, const char *before);

#endif
