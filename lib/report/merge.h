#ifndef LIB_REPORT_MERGE_H
#define LIB_REPORT_MERGE_H
/*
 * Another host's envelope, read into our report: its findings get its name,
 * its data goes to nodes[]. What is not an envelope of ours (schema 1, same
 * command) is refused with a sentence that says what it was instead.
 */
#include "lib/report/report.h"

int merge_envelope(struct report *r, const char *host, const char *command, const char *text,
		   size_t n, cJSON **ret_data, struct err *e) MUST_CHECK;

#endif
