#ifndef LIB_NET_HTTP_H
#define LIB_NET_HTTP_H
/*
 * HTTP/1.1 without TLS, for metadata services only (those have no TLS and
 * must never go through a proxy): one request, one deadline, a bounded
 * answer. Anything that needs TLS goes through the libcurl plug-in.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/net/addr.h"

struct http_request {
	const char *method; /* "GET", "PUT" */
	union addr to;	    /* with port */
	const char *host;   /* Host: header */
	const char *path;
	const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
	uint64_t connect_ns, total_ns;
};
struct http_answer {
	int status; /* 0: none came; see timed_out and error */
	bool timed_out;
	bool connected;
	int error; /* errno of the connect or the connection; EBADMSG: not HTTP, or too big */
	const char *headers; /* raw lines after the status line, NUL-terminated */
	const char *body;    /* NUL-terminated */
	size_t n;
};

/*
 * -1 only when this host could not even try (no socket, or control characters
 * in @q, which would let a value add headers); a silent server is status 0.
 */
int http_do(const struct http_request *q, struct arena *a, struct http_answer *ret,
	    struct err *e) MUST_CHECK;
/* A header's value in @answer, or NULL. Case-insensitive. */
const char *http_header(const struct http_answer *answer, const char *name, struct arena *a);
/*
 * The parser alone (fuzzed): 1 complete, 0 more needed, -1 malformed or above
 * HTTP_BODY_MAX. @closed: nothing will follow. What follows a complete answer
 * is not looked at. @ret is written only when complete.
 */
#define HTTP_BODY_MAX (1u << 20)
int http_parse(const char *text, size_t n, bool closed, struct arena *a, struct http_answer *ret);

#endif
