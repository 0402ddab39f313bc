#ifndef BENCH_RANKS_RELAY_H
#define BENCH_RANKS_RELAY_H
/*
 * Ranks measure, one process reports. What ranks have to say travels as events,
 * JSON objects with a name in "ev". Where the reporting process started the
 * ranks they come as lines on their standard output, marked so that what a
 * library prints there is told apart; where a foreign launcher started all of
 * us, rank 0 reports and its events are handed over directly.
 */
#include "lib/core/arena.h"
#include "lib/core/bytes.h"
#include "lib/core/err.h"

#include <cjson/cJSON.h>

enum { RELAY_LINE_MAX = 64 << 20 };

struct relay {
	int fd;					       /* lines are written to it; -1: */
	void (*direct)(const cJSON *event, void *arg); /* NULL: nobody listens */
	void *arg;
};

/* A new event, to be filled and sent. */
cJSON *relay_event(const char *name);
void relay_send(struct relay *r, cJSON *event); /* frees it */

/* An error travels: an event of its own, to be sent, and back. */
cJSON *relay_error(const char *name, const struct err *e);
/* Of several the first is the cause: what *e has already stays. */
void relay_error_take(const cJSON *event, struct err *e);

/* Lines come in in pieces. */
struct relay_in {
	struct bytes kept;
	void (*event)(const cJSON *event, void *arg);
	void (*other)(const char *line, void *arg); /* what is no event */
	/* What stands before an event goes on behind it: another rank's text, cut anywhere by a
	 * launcher that passes on pieces. Else it is a label of the launcher's, and dropped. */
	bool is_mixed;
	bool is_cut; /* of a line longer than RELAY_LINE_MAX the beginning was handed out */
	void *arg;
};
void relay_feed(struct relay_in *in, const char *data, size_t n);
/* From now on stderr goes nowhere: who hears our events says what there is to say. */
void relay_hush(void);
void relay_in_done(struct relay_in *in); /* a last line without an end is handed out */

#endif
