#ifndef PROBES_TALLY_SUBJECT_H
#define PROBES_TALLY_SUBJECT_H
/*
 * Whom a finding is about. What is between hosts one of them tells: it is a witness, and the
 * subject has the names. All texts stay the caller's.
 */
#include "probes/tally/names.h"

#include <cjson/cJSON.h>

/* One host, a folded list, or a pair with an arrow between: each word as the names that it may be;
 * what else a subject is gives names that no host has. */
void subject_names(struct arena *a, const char *subject, host_list *ret);

/* The hosts that a document was about; of a run on one host alone it is that one. */
void run_hosts(const cJSON *doc, struct arena *a, struct names *ret);

/* The host of a finding of @doc, whose hosts are @hosts; "": whoever began the run only tells what
 * is between others, or it names none. */
const char *subject_host(const cJSON *doc, const struct names *hosts, const cJSON *f);

#endif
