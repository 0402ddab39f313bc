#ifndef BENCH_INSPECTOR_INSPECTOR_H
#define BENCH_INSPECTOR_INSPECTOR_H
/*
 * What NCCL itself recorded of a training (its Inspector plug-in), read and judged: is the
 * bandwidth normal, who came last and was waited for, whose records stop before the others', what
 * sank over time, what stood still once. Files of any length are read line by line.
 */
#include "bench/inspector/book.h"
#include "lib/report/report.h"

struct insp_opts {
	double nic_gbps;      /* of one host's cards together; NAN: not known */
	const char *instance; /* cloud type; NULL */
	double expect_gbps;   /* bus bandwidth asked for; 0: what the hardware should do */
	double expect_share;  /* or a share of that; 0: the usual limits */
};

/*
 * What is at @path: a folder counts as the Inspector's, a file by how it begins. Prometheus files,
 * which hold a moment and no history, and dumps of the Flight Recorder are refused with a sentence.
 */
int insp_knows(const char *path, bool *ret, struct err *e) MUST_CHECK;
struct packed;
int insp_refuse_packed(const struct packed *p, const char *path, struct err *e);
/* @what: "is a dump" */
int insp_refuse_dump(const char *path, const char *what, struct arena *a, struct err *e);
/* What a file or a stream begins with, enough of it to know. */
int insp_head(int fd, const char *path, struct arena *a, const char **ret, size_t *ret_n,
	      struct err *e) MUST_CHECK;
/* Adds the lines of a file, or of all files of a folder that have some. */
int insp_read(struct insp_book *b, const char *path, struct err *e) MUST_CHECK;
/* The same of a stream, of which the first @n bytes were read already. */
int insp_read_stream(struct insp_book *b, int fd, const char *head, size_t n,
		     struct err *e) MUST_CHECK;
/* Findings, a table for people and data.inspector. Closes @b. */
void insp_judge(struct insp_book *b, const struct insp_opts *o, struct report *r);

#endif
