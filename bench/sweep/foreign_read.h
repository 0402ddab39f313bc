#ifndef BENCH_SWEEP_FOREIGN_READ_H
#define BENCH_SWEEP_FOREIGN_READ_H
/* How the files bench/sweep/foreign*.c read other people's tests: line by line, into one reader. */
#include "bench/sweep/foreign.h"

enum { FOREIGN_FIELDS = 16, FOREIGN_LINE = 512 };

struct foreign_reader {
	struct arena *a;
	saved_list *all;
	struct foreign *f; /* the latest; NULL: none has begun */
	const char *title; /* of perftest, whose table comes later */
	bool both_ways;
	unsigned column; /* of what is read */
	double unit;	 /* of that, in Gb/s */
	bool has_sum;	 /* iperf3's [SUM] was there: lines of one stream are parts of it */
	bool is_srd;	 /* EFA's transport */
	bool is_threaded;
	double ways[2];		      /* iperf3's, to the server and back */
	double lost[2], datagrams[2]; /* likewise, over UDP */
	const char *ended; /* "interrupt - the client ...", of the test that begins; NULL */
	int streams[2];	   /* by who tells of them: senders, receivers */
};

/* What @r->f is from now on. */
struct foreign *foreign_begin(struct foreign_reader *r, enum foreign_by by, const char *test);
/* Cuts @line into its words. */
size_t foreign_split(char *line, char *fields[FOREIGN_FIELDS]);
/* NAN: it is none. */
double foreign_number(const char *s);
/* A line of iperf3's text; false: it is none. */
bool foreign_iperf(struct foreign_reader *r, const char *line);

#endif
