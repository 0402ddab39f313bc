#ifndef PROBES_LOG_LOOK_H
#define PROBES_LOG_LOOK_H
/*
 * What this host shows of one entry of the catalogue. What is asked of another
 * command of ours is asked of a child process, in JSON, once for all entries.
 */
#include "lib/report/report.h"

enum look { LOOK_UNKNOWN, LOOK_YES, LOOK_NO, LOOK_COUNT };
extern const char *const look_words[LOOK_COUNT]; /* "unknown", "yes", "no": in JSON too */

struct looker {
	struct arena *a;
	uint64_t deadline_ns;
	/* private */
	const char *id;
	unsigned port;
	const char *said;
	struct {
		bool asked;
		const char *text;
		size_t n;
	} ifprobe;
};

/* Is there anything to look at for this entry? */
bool look_can(const char *id);
/* @port: the one that the log names, or 0. @ret_said: what was seen; NULL: nothing about it. */
enum look look_for(struct looker *l, const char *id, unsigned port, const char **ret_said);

/* --look ID[:PORT],...: findings and data.looked[] (id, port, state, said). */
int look_list(const char *list, uint64_t deadline_ns, struct report *r, struct err *e) MUST_CHECK;

#endif
