#ifndef LIB_CLOUD_HTTPS_H
#define LIB_CLOUD_HTTPS_H
/*
 * HTTPS with AWS's request signatures, by libcurl, which is in a plug-in
 * (plugins/curl.c): no command starts with it. This header is the contract
 * between the two sides. Only POST: libcurl before 8.3 signs queries wrongly,
 * and every version from 7.86 on signs a POST to "/" rightly.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

#define HTTPS_SYMBOL "windsock_https"
enum { HTTPS_VERSION = 2, HTTPS_BODY_MAX = 64 << 20 };

struct https_request {
	const char *url;
	const char *body;  /* application/x-www-form-urlencoded */
	const char *sigv4; /* "aws:amz:REGION:SERVICE"; NULL: unsigned, and without keys */
	const char *key_id, *secret;
	const char *const *headers; /* "Name: value", NULL-terminated */
	const char *ca_file;	    /* NULL: the system's */
	bool is_direct;		    /* no proxy, whatever the environment says */
	uint64_t total_ms;
	bool (*cancelled)(void); /* asked now and then; may be NULL */
};
struct https_answer {
	int status; /* 0: none came; see timed_out and error */
	bool timed_out;
	char error[256];
	char *body; /* NUL-terminated; https_plugin.release() frees it */
	size_t n;
};
struct https_plugin {
	unsigned version; /* HTTPS_VERSION */
	/* The version of the libcurl that is loaded: 0x075801 and "7.88.1". */
	unsigned (*libcurl)(const char **ret_text);
	void (*post)(const struct https_request *q, struct https_answer *ret);
	void (*release)(struct https_answer *answer);
};

/* Loads the plug-in. ERR_ABSENT: it, libcurl, or a libcurl that signs right is not here. */
const struct https_plugin *https_load(struct arena *a, struct err *e) MUST_CHECK;
bool https_is_interrupted(void); /* for @cancelled */
/* 7.86.0 is the first that signs what it sends. */
int https_check_libcurl(unsigned number, const char *text, struct err *e) MUST_CHECK;

#endif
