#ifndef PROBES_PREFLIGHT_DOCUMENT_H
#define PROBES_PREFLIGHT_DOCUMENT_H
/*
 * Runs as envelopes, from files: what --json printed, or a page that --report wrote.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

#include <cjson/cJSON.h>

/* NULL with @e filled where @path is no envelope of ours. cJSON_Delete() it. */
cJSON *document_read(const char *path, struct arena *a, struct err *e) MUST_CHECK;
/* The page of @doc, replaced in one step. */
int document_write_page(const cJSON *doc, const char *path, struct arena *a,
			struct err *e) MUST_CHECK;

#endif
