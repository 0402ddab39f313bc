#ifndef LIB_REPORT_OWN_H
#define LIB_REPORT_OWN_H
/* Between report.c, which hears what is found, and output.c, which knows where the answer goes. */
#include "lib/report/report.h"

struct report {
	struct arena a;
	struct report_opts opts;
	struct sink sink;
	const struct renderer *rend;
	const struct series *series; /* the latest */
	size_t rows;
	bool answered;
	uint64_t started_ns;
	int write_errno;
	char *text; /* for --output, until it is whole */
	size_t text_n;
};

/* The sink's file; --output's is in memory until it is whole. */
int report_open_output(struct report *r, struct err *e) MUST_CHECK;
/* Once all is said. */
int report_write_output(struct report *r, struct err *e) MUST_CHECK;
int report_write_page(struct report *r, struct err *e) MUST_CHECK;

#endif
