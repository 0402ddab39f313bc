#ifndef TESTS_UNIT_REPORT_FILE_H
#define TESTS_UNIT_REPORT_FILE_H
/* A report that is written into a file of the test's own, and away with both. */
#include "lib/report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

/* @out: the file's name, on return. */
static inline struct report *report_file_new(char out[64], const char *command, const char *format)
{
	struct err e = {0};
	struct report *r;

	(void)snprintf(out, 64, "/tmp/t_report_file.%d", (int)getpid());
	r = report_new(
		&(struct report_opts){
			.command = command, .format = format, .host = "here", .output = out},
		&e);
	if (!r)
		fail_msg("%s", e.msg);
	return r;
}

/* Its exit code. */
static inline int report_file_done(struct report *r, const char *out)
{
	struct err e = {0};
	int code = report_end(r, &e);

	(void)unlink(out);
	return code;
}

#endif
