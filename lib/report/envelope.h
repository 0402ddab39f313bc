#ifndef LIB_REPORT_ENVELOPE_H
#define LIB_REPORT_ENVELOPE_H
/*
 * Another host's envelope. What is not one of ours (schema 1, same command) is
 * refused with a sentence that says what it was instead; a login shell may talk
 * before it and after it.
 */
#include "lib/report/report.h"

/* The document, bounded and checked; free it with cJSON_Delete(). NULL with @e filled. */
cJSON *envelope_read(const char *host, const char *command, const char *text, size_t n,
		     struct err *e) MUST_CHECK;

/* The part of @stage, where it is a run of windsock; the data of @command's own run. */
const cJSON *envelope_part(const cJSON *doc, const char *stage, const char *command);
/* One of its findings: its check's id, NULL: of no check; and what it says, into @f, but for whose
 * it is. Whatever it is, @f is sound. */
const char *envelope_check(const cJSON *finding);
void envelope_finding(struct finding *f, const cJSON *finding);

#endif
