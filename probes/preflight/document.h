#ifndef PROBES_PREFLIGHT_DOCUMENT_H
#define PROBES_PREFLIGHT_DOCUMENT_H
/*
 * Runs as envelopes: this one as it stands, and earlier ones from files, which
 * may be what --json printed or a page that --report wrote.
 */
#include "probes/preflight/preflight.h"

/* Of the run so far; cJSON_Delete() it. */
cJSON *preflight_document(const struct preflight *p, const char *host, double began);
/* NULL with @e filled where @path is no envelope of ours. cJSON_Delete() it. */
cJSON *document_read(const char *path, struct arena *a, struct err *e) MUST_CHECK;
/* The page of @doc, replaced in one step. */
int document_write_page(const cJSON *doc, const char *path, struct arena *a,
			struct err *e) MUST_CHECK;

#endif
