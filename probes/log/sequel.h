#ifndef PROBES_LOG_SEQUEL_H
#define PROBES_LOG_SEQUEL_H
/*
 * Lines that are known by what they follow, and have no words to scan for: the last one of a
 * Python traceback, whatever its exception is called, and the calls that torch's watchdog lists
 * below "Stack trace of the failed collective", py-spy below a thread, the ranks that Horovod
 * lists below "Missing ranks:", the rows of a hosts file and of a table of quotas, what kubectl
 * shows of an object, and the keys of InfiniBand's partitions.
 */
#include "probes/log/line.h"

struct why_stream;

struct sequel {
	enum sequel_kind {
		SEQUEL_NONE,
		SEQUEL_EXCEPTION,
		SEQUEL_STACK,
		SEQUEL_SAMPLE,
		SEQUEL_STALL,
		SEQUEL_NAMES,
		SEQUEL_SHOWN,
		SEQUEL_PKEYS,
		SEQUEL_QUOTA
	} kind;
	unsigned left;	    /* lines that are read at the most */
	struct log_who who; /* who said what it follows: only its own lines count */
	uint64_t fired;	    /* the latest line that was taken for an exception, 0: none */
};

/* The lines behind @l, which is looked at, are its. */
void sequel_begin(struct why_stream *s, enum sequel_kind kind, const struct log_line *l);
/* Reads them from @text on, which is line @line of the stream; where @end comes too soon, the rest
 * is read with the next text. */
void sequel_read(struct why_stream *s, const char *text, const char *end, uint64_t line);

#endif
