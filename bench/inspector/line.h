#ifndef BENCH_INSPECTOR_LINE_H
#define BENCH_INSPECTOR_LINE_H
/*
 * One line of what NCCL's Inspector plug-in writes (NCCL 2.28 and newer): a JSON object of one
 * collective, or since 2.30 of one send or receive, as one rank saw it. Nothing is copied: texts
 * point into the line, escapes and all. Keys may come in any order, unknown ones are passed over,
 * and of a verbose line the trace of events is not read. Pure.
 */
#include "lib/core/base.h"

struct insp_text {
	const char *s;
	size_t n;
};

/* Numbers: NAN where the key is missing. */
struct insp_record {
	struct insp_text comm, name, host, coll, timing; /* s NULL: the key is missing */
	double rank, ranks, hosts, pid;
	double at_us; /* when the line was written, since 1970; the collective was before */
	double sn;    /* counts the communicator's collectives of that kind, the same on all ranks;
			 of p2p it is the rank's own */
	double bytes; /* what the call was given: of all_gather and reduce_scatter one rank's part
		       */
	double us, busbw;
	bool p2p;
};

/* False: it is not all there, or no such line. */
bool insp_line(const char *line, size_t n, struct insp_record *ret);

/* Is it what the newest plug-in begins each dump of a communicator with? @ret: so many collectives
 * and sends had no room since the dump before, and no line. */
bool insp_drops(const char *line, size_t n, double *ret);

/* Is what a file begins with of the Inspector, and of which of its two formats? */
enum insp_kind { INSP_NONE, INSP_JSON, INSP_PROMETHEUS };
enum insp_kind insp_kind(const char *text, size_t n);

#endif
