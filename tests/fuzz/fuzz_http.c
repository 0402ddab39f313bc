/* HTTP answers: byte by byte comes to the same as all at once; a body is never made up. */
#include "lib/net/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int parse(const char *text, size_t n, bool closed, struct arena *a, struct http_answer *ret)
{
	AUTO_FREE char *exact = malloc(n + !n); /* so that one byte too far is seen */

	memcpy(exact, text, n);
	*ret = (struct http_answer){0};
	return http_parse(exact, n, closed, a, ret);
}

static void same(const struct http_answer *x, const struct http_answer *y)
{
	if (x->status != y->status || x->n != y->n || memcmp(x->body, y->body, x->n) != 0 ||
	    !streq(x->headers, y->headers))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = {0};
	const char *text = (const char *)data;
	struct http_answer whole, closed, part;
	int rc = parse(text, size, false, &a, &whole), by_byte = 0;
	int closed_rc = parse(text, size, true, &a, &closed);

	if (closed_rc == 0 || (rc == 1 && closed_rc != 1) || (rc < 0 && closed_rc > 0))
		abort();
	for (size_t n = 0; n <= size && !by_byte; n++)
		by_byte = parse(text, n, false, &a, &part);
	if (by_byte != rc)
		abort();
	if (rc == 1)
		same(&whole, &part);
	if (closed_rc == 1) {
		if (closed.n > size || closed.status < 200 || closed.status > 599 ||
		    closed.body[closed.n])
			abort();
		(void)http_header(&closed, "Metadata-Flavor", &a);
	}
	return 0;
}
