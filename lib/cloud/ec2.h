#ifndef LIB_CLOUD_EC2_H
#define LIB_CLOUD_EC2_H
/*
 * EC2's API: one signed POST per call, its XML turned into the JSON that the
 * aws command prints, so that there is one reader for both. A call that EC2
 * throttles is made again until the deadline. AWS_ENDPOINT_URL_EC2 and
 * AWS_ENDPOINT_URL are honoured as botocore honours them.
 */
#include "lib/cloud/credentials.h"
#include "lib/cloud/https.h"
#include "lib/core/text.h"

#include <cjson/cJSON.h>

struct ec2 {
	struct arena *a;
	const struct https_plugin *https;
	struct credentials keys;
	const char *region, *endpoint;
	uint64_t deadline_ns; /* of one call, with its repetitions */
};

/* @profile, @region: by option, or NULL. @fallback_region: where this instance is, or NULL. */
int ec2_open(struct ec2 *s, const char *profile, const char *region, const char *fallback_region,
	     uint64_t deadline_ns, struct arena *a, struct err *e) MUST_CHECK;
void ec2_done(struct ec2 *s);

/* Action=...&Version=...; values are encoded, names are ours. */
void ec2_query(struct text *q, struct arena *a, const char *action);
void ec2_query_add(struct text *q, const char *name, const char *value);
/* Filter.@number.Name and its values. */
void ec2_query_filter(struct text *q, unsigned number, const char *name, const str_list *values);

struct ec2_reply {
	int status;
	const char *code, *message; /* what EC2 has against it; NULL: nothing */
	cJSON *doc;		    /* the caller deletes it */
};
/* -1: there was no answer that could be read. */
int ec2_call(struct ec2 *s, const char *query, struct ec2_reply *ret, struct err *e) MUST_CHECK;
/* All pages of a Describe*: @take gets each. 0, or 1 with @ret_code when EC2 refused (and @e says
 * so), -1. */
int ec2_describe(struct ec2 *s, const char *query, void (*take)(void *arg, const cJSON *page),
		 void *arg, const char **ret_code, struct err *e) MUST_CHECK;

/* To ask again later; -1 when interrupted. */
int ec2_wait_ms(uint64_t ms, struct err *e) MUST_CHECK;

/* EC2's codes as a sentence and what to do. Always -1. */
int ec2_explain(const char *action, const char *code, const char *message, struct err *e);
bool ec2_is_passing(int status, const char *code); /* worth asking again */

/* The API's XML with the names that the aws command prints. NULL: not that. Fuzzed. */
cJSON *ec2_xml_parse(const char *text, size_t n, struct err *e) MUST_CHECK;

#endif
